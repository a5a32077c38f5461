"""Reconciles LLMService and SLOPolicy objects into engines and a router."""
