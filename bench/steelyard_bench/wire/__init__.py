"""`bench wire`: what a router costs a request on the wire, ours and others' under one load."""
