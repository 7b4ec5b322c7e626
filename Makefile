# Thin front for people; CMake (CMakePresets.json) does the work. `make` lists the targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PRESET ?= release
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)
# More CMake options for a first configure, such as CMAKE_ARGS=-DWARPFOLD_CUDA=OFF, or what .ci/run says:
# CMAKE_ARGS=-DCMAKE_COMPILE_WARNING_AS_ERROR=ON.
CMAKE_ARGS ?=
# The GPUs to compile for: native (the default: those of this machine, else 9.0), dist, or a list such as '80-real;90'.
WARPFOLD_CUDA_ARCHITECTURES ?=
architectures = $(if $(WARPFOLD_CUDA_ARCHITECTURES),'-DWARPFOLD_CUDA_ARCHITECTURES=$(WARPFOLD_CUDA_ARCHITECTURES)')
CCACHE := $(shell command -v ccache)
ifneq ($(CCACHE),)
launchers := -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache
endif

.PHONY: help
help: ## This list
	@echo 'warpfold: make TARGET [PRESET=release|debug|asan|ubsan|tsan] [JOBS=n] [CMAKE_ARGS=...]'
	@echo '                     [WARPFOLD_CUDA_ARCHITECTURES=native|dist|list of 75 80 90 100 120 ...]'
	@sed -nE 's/^([a-z-]+):[^#]*## (.*)/  \1\t\2/p' Makefile | expand -t 18

.PHONY: setup
setup: ## Install the packages of deploy/packages.txt (root or sudo; no time when nothing is missing)
	@deploy/setup.sh deploy/packages.txt

$(BUILD)/build.ninja: CMakePresets.json | setup
	@cmake --preset $(PRESET) -B $(BUILD) $(launchers) $(architectures) $(CMAKE_ARGS)

.PHONY: build
build: setup $(BUILD)/build.ninja ## Build everything; with nvcc the binaries hold the CUDA and the CPU backend
	@$(if $(architectures),cmake -B $(BUILD) $(architectures) >/dev/null)
	@cmake --build $(BUILD) -j $(JOBS)
	@sed -n 's|^WARPFOLD_BACKENDS:INTERNAL=|warpfold: $(BUILD) is built; backends: |p' $(BUILD)/CMakeCache.txt

.PHONY: benches
benches: build ## Build the benchmarks too
	@cmake --build $(BUILD) -j $(JOBS) --target benches

.PHONY: test
test: build ## Build and run every test; says in the end which were skipped, and why
	@status=0; \
	ctest --test-dir $(BUILD) --output-on-failure --no-tests=error -j $(JOBS) \
	  --output-junit $(CURDIR)/$(BUILD)/tests.xml --test-output-size-passed 1000000 || status=$$?; \
	tests/skips.py $(BUILD)/tests.xml || status=$$?; \
	exit $$status

.PHONY: sanitize-gpu
sanitize-gpu: build ## The GPU tests, briefer, under compute-sanitizer's tools (a GPU; 3 minutes)
	@deploy/gpu-sanitize.sh $(BUILD)/tests/gpu/warpfold_gpu_test

.PHONY: demo
demo: ## Build server and CLI alone, describe a real model checkpoint, check the answers against NumPy (under 5 minutes)
	@JOBS=$(JOBS) CMAKE_ARGS='$(CMAKE_ARGS)' client/demo/build.sh build/demo
	@client/demo/run.sh build/demo

.PHONY: bench
bench: bench-kernels bench-service ## Both benchmarks

.PHONY: bench-kernels
bench-kernels: benches ## Kernels, shapes, batches, reduce0..reduce6; accuracy, torch where it is (a GPU; BENCH_ARGS= SHAPES_ARGS= ...)
	@if [ ! -x $(BUILD)/bench/kernels/warpfold_bench_kernels ]; then \
	  echo 'bench-kernels: $(BUILD) has no CUDA; install the CUDA toolkit, make clean, and again' >&2; \
	  exit 1; \
	fi
	@$(BUILD)/bench/kernels/warpfold_bench_kernels $(BENCH_ARGS)
	@$(BUILD)/bench/kernels/warpfold_bench_shapes $(SHAPES_ARGS)
	@$(BUILD)/bench/kernels/warpfold_bench_batch $(BATCH_ARGS)
	@$(BUILD)/bench/kernels/warpfold_bench_ladder $(LADDER_ARGS)
	@if python3 -c 'import torch' 2>/dev/null; then \
	  bench/kernels/accuracy.py --build $(BUILD)/bench/kernels $(ACCURACY_ARGS); \
	  bench/kernels/torch_shapes.py --build $(BUILD)/bench/kernels $(TORCH_ARGS); \
  bench/kernels/hard_data.py --build $(BUILD)/bench/kernels $(HARD_ARGS); \
	else \
	  echo 'bench-kernels: python3 has no torch; accuracy.py, torch_shapes.py and hard_data.py are left out'; \
	fi

.PHONY: bench-cpu
bench-cpu: benches ## CPU kernels against numpy.sum and a plain read and sum (python3 with numpy; CPU_ARGS=..., CPU_SUMS_ARGS=...)
	@bench/kernels/cpu.py --build $(BUILD)/bench/kernels $(CPU_ARGS)
	@bench/kernels/cpu_sums.py --build $(BUILD)/bench/kernels $(CPU_SUMS_ARGS)

.PHONY: bench-service
bench-service: benches ## Service speed against a null server in the same run (BENCH_ARGS=...)
	@python3 bench/service/run.py --build $(BUILD) $(BENCH_ARGS)

.PHONY: bench-clients
bench-clients: build ## Python over the C++ client, tritonclient and perf_analyzer over ours (BENCH_ARGS=...)
	@python3 bench/service/clients.py --build $(BUILD) $(BENCH_ARGS)

.PHONY: dist
dist: setup ## build/dist: server and CLI with the kernels of every GPU of WARPFOLD_CUDA_ARCHITECTURES=dist (30 minutes)
	@cmake --preset dist $(launchers) $(CMAKE_ARGS)
	@cmake --build --preset dist -j $(JOBS)
	@tests/kernels/code/run.sh build/dist

.PHONY: bundle
bundle: WARPFOLD_CUDA_ARCHITECTURES ?= 90
bundle: benches ## bundle/: server, CLI, GPU tests and benches, relocatable, with the libraries they need
	@deploy/bundle.sh $(BUILD) bundle

.PHONY: catalogue
catalogue: setup $(BUILD)/build.ninja ## Write what is made of the catalogues of ops and dtypes (kernels/ops, kernels/dtypes)
	@cmake --build $(BUILD) -j $(JOBS) --target warpfold_catalogue
	@tools/catalogue/generate.py --from $(BUILD)/tools/catalogue/warpfold_catalogue
	@tools/catalogue/contract.sh client/python/warpfold/contract.binpb

.PHONY: lint
lint: ## clang-format, clang-tidy with -Wthread-safety, shellcheck, hadolint, compose files
	@deploy/setup.sh deploy/packages.txt deploy/packages-lint.txt
	@JOBS=$(JOBS) tests/lint/run.sh

.PHONY: format
format: ## Apply clang-format to every tracked source
	@tests/lint/run.sh --fix-format

.PHONY: image
image: ## The container image, GPU variant (docker, podman or buildah)
	@deploy/image.sh gpu

.PHONY: image-cpu
image-cpu: ## The container image, CPU variant
	@deploy/image.sh cpu

.PHONY: clean
clean: ## Remove build/ and bundle/
	@rm -rf build bundle
