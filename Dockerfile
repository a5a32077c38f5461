# One image for everything: operator, router and simulated engine are subcommands of `steelyard`.
FROM python:3.11-slim-bookworm AS needs
COPY pyproject.toml /
RUN python3 -c "import tomllib; print(*tomllib.load(open('/pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" \
    > /requirements.txt

FROM python:3.11-slim-bookworm AS build
# The tools stay in this stage: the environment that is shipped has no pip.
RUN python3 -m venv /build && python3 -m venv --without-pip /opt/steelyard
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_CONSTRAINT=/source/constraints.txt
WORKDIR /source
# What the product depends on and the product are a layer each: the first changes less often.
COPY constraints.txt ./
COPY --from=needs /requirements.txt ./
RUN /build/bin/pip install -q hatchling \
    && /build/bin/pip --python /opt/steelyard/bin/python install -q -r requirements.txt
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY bench bench
COPY cli cli
COPY operator operator
COPY router router
COPY simulator simulator
RUN /build/bin/hatchling build -t wheel -d /wheel \
    && /build/bin/pip --python /opt/steelyard/bin/python install -q --no-deps --prefix /product /wheel/*.whl

FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="steelyard" \
      org.opencontainers.image.description="Operator and router for LLM inference on Kubernetes" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/steelyard /opt/steelyard
COPY --from=build /product /opt/steelyard
# The file system may be read-only: nothing is written but to /tmp, if that.
ENV PATH=/opt/steelyard/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp
WORKDIR /tmp
USER 65532:65532
ENTRYPOINT ["steelyard"]
