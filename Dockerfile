# warpfold-server and the command line client in a small image that runs as nobody.
#
# GPU (default):  docker build -t warpfold:gpu .
# CPU:            docker build -t warpfold:cpu --build-arg BUILD_BASE=debian:12.12-slim \
#                   --build-arg RUNTIME_BASE=debian:12.12-slim --build-arg WARPFOLD_CUDA=OFF .
# One GPU alone:  docker build -t warpfold:gpu --build-arg WARPFOLD_CUDA_ARCHITECTURES=90 .
# Both bases must be of one distribution. docs/operations.md says how to build without a container engine.
ARG BUILD_BASE=nvidia/cuda:13.0.1-devel-ubuntu24.04
ARG RUNTIME_BASE=nvidia/cuda:13.0.1-base-ubuntu24.04

FROM ${BUILD_BASE} AS build
WORKDIR /src
COPY deploy/setup.sh deploy/packages.txt deploy/packages-build.txt deploy/
RUN deploy/setup.sh deploy/packages.txt
COPY . .
ARG WARPFOLD_CUDA=ON
# `dist`: the GPUs that people have; for one alone, which builds in a third of the time, its compute capability, such as 90.
ARG WARPFOLD_CUDA_ARCHITECTURES=dist
RUN cmake --preset dist -DWARPFOLD_CUDA="${WARPFOLD_CUDA}" \
    -DWARPFOLD_CUDA_ARCHITECTURES="${WARPFOLD_CUDA_ARCHITECTURES}" \
  && cmake --build --preset dist \
  && deploy/stage.sh /opt/warpfold build/dist/server/warpfold-server build/dist/client/cpp/warpfold

FROM ${RUNTIME_BASE}
LABEL org.opencontainers.image.title="warpfold" \
      org.opencontainers.image.description="Reductions of tensors on GPUs, as a gRPC service" \
      org.opencontainers.image.licenses="Apache-2.0"
# The libraries come along in /opt/warpfold/lib: nothing is installed here.
COPY --from=build /opt/warpfold /opt/warpfold
COPY LICENSE /opt/warpfold/LICENSE
# Where the driver keeps kernels that it compiled. A volume here outlives the container.
RUN install -d -o 65532 -g 65532 /var/cache/warpfold
ENV PATH=/opt/warpfold/bin:$PATH \
    CUDA_CACHE_PATH=/var/cache/warpfold \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    WARPFOLD_LISTEN_ADDRESS=0.0.0.0:50051 \
    WARPFOLD_METRICS_ADDRESS=0.0.0.0:9464
USER 65532:65532
# 50051: gRPC; 9464: Prometheus. All addresses of the container, by variables so that arguments of `docker run` leave them: which
# of the host's reach them is -p's.
EXPOSE 50051 9464
STOPSIGNAL SIGTERM
# 15 minutes: the driver may compile kernels once, for a GPU newer than the build.
HEALTHCHECK --interval=10s --timeout=5s --start-period=15m --retries=3 \
  CMD ["warpfold", "health", "--server=127.0.0.1:50051"]
ENTRYPOINT ["warpfold-server"]
