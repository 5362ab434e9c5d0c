# taper: `make` builds ./taper, `make test` runs every test, `make help` lists the rest.

FLAVOUR ?= release
BUILD   := build/$(FLAVOUR)
CC      := gcc
PKGS    := openblas jansson libsodium libpcre2-8 libuv yaml-0.1 sqlite3 zlib libxxhash libmicrohttpd
VERSION := 0.1.0
REVISION := $(shell git describe --always --dirty --exclude='*' 2>/dev/null || echo unknown)

WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef
OPT    := -O3 -fno-math-errno -fno-trapping-math
CFLAGS_EXTRA ?=
ifeq ($(FLAVOUR),asan)
OPT := -O1 -fsanitize=address -fno-omit-frame-pointer
endif
ifeq ($(FLAVOUR),ubsan)
OPT := -O1 -fsanitize=undefined -fno-sanitize-recover=all
endif
ifeq ($(FLAVOUR),tsan)
OPT := -O1 -fsanitize=thread
endif
ifeq ($(FLAVOUR),clang)
CC := clang-14
endif
ifeq ($(FLAVOUR),fuzz)
CC := clang-14
OPT := -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -Wno-pass-failed
endif

CFLAGS   := -std=gnu11 -g $(OPT) $(WARN) -fopenmp -MMD -MP $(CFLAGS_EXTRA)
CPPFLAGS := -I. -D_GNU_SOURCE $(shell pkg-config --cflags $(PKGS))
# Opened at run time, so only their headers are needed here: OpenBLAS (core/cpu/gemm.c), libmicrohttpd (harness/page).
LDLIBS   := $(shell pkg-config --libs $(filter-out openblas libmicrohttpd,$(PKGS))) -lunistring -lm -ldl -pthread

CORE    := $(wildcard core/*/*.c core/*/*/*.c)
HARNESS := $(wildcard harness/*/*.c)
SUPPORT := $(wildcard tests/support/*.c)
TESTS   := $(wildcard tests/test_*.c)
BENCHES := $(wildcard tests/bench_*.c)
HEADERS := $(wildcard core/*/*.h core/*/*/*.h harness/*/*.h)

FORMATTED = $(sort $(foreach d,core harness gpu tests,$(foreach e,c h inc cu cuh cpp,$(shell find $d -name '*.$e'))))

CORE_O    := $(CORE:%.c=$(BUILD)/%.o)
HARNESS_O := $(HARNESS:%.c=$(BUILD)/%.o)
SUPPORT_O := $(SUPPORT:%.c=$(BUILD)/%.o)
TEST_BINS := $(TESTS:tests/%.c=$(BUILD)/tests/%)
BENCH_BINS := $(BENCHES:tests/%.c=$(BUILD)/tests/%)
FUZZ_BINS := $(patsubst tests/%.c,build/fuzz/tests/%,$(wildcard tests/fuzz_*.c))
FUZZ_SECONDS ?= 30
PYTHON ?= /usr/bin/python3

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: help all test tests bench fuzz torture asan ubsan tsan clang lint lint-format lint-cppcheck headers format man install uninstall print-flags compdb clean FORCE

all: $(BUILD)/taper $(BUILD)/taper-supervisor ## build the program (./taper)
ifeq ($(FLAVOUR),release)
	@ln -sfn $(BUILD)/taper taper
endif

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

$(BUILD)/taper: $(BUILD)/harness/main.o $(BUILD)/libharness.a $(BUILD)/libcore.a
	$(CC) $(CFLAGS) -rdynamic -o $@ $^ $(LDLIBS)

# Statically where there is what that takes: it starts several times as fast (harness/supervisor.c).
SUPERVISOR_STATIC := $(if $(filter release,$(FLAVOUR)),-static)
$(BUILD)/taper-supervisor: $(BUILD)/harness/supervisor.o $(BUILD)/libharness.a $(BUILD)/libcore.a
	$(CC) $(filter-out -fopenmp,$(CFLAGS)) $(SUPERVISOR_STATIC) -Wl,--gc-sections -o $@ $^ -ljansson -lsodium || \
	  $(CC) $(CFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/libcore.a: $(CORE_O)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/libharness.a: $(HARNESS_O)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# Files that the assembler takes into the program, which -MMD does not see: all there are, listed when that changes.
EMBEDDED := $(sort $(wildcard results/*.sql results/*.css results/tables/* plots/* harness/page/*.css harness/page/*.js))
$(BUILD)/harness/base/embedded.o: CPPFLAGS += -I$(BUILD)/generated
$(BUILD)/harness/base/embedded.o: $(BUILD)/generated/embedded_files.inc $(EMBEDDED)
$(BUILD)/generated/embedded_files.inc: FORCE
	@mkdir -p $(@D)
	@n=0; for file in $(EMBEDDED); do n=$$((n + 1)); echo "ROW($$n, \"$$file\")"; done > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

# The version is compiled into one file, rebuilt only when the revision changes.
$(BUILD)/core/base/version.o: CPPFLAGS += -DTAPER_VERSION='"$(VERSION)"' -DTAPER_REVISION='"$(REVISION)"'
$(BUILD)/core/base/version.o: $(BUILD)/revision
$(BUILD)/revision: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION) $(REVISION)' | cmp -s - $@ || echo '$(VERSION) $(REVISION)' > $@

$(BUILD)/tests/fuzz_%: $(BUILD)/tests/fuzz_%.o $(BUILD)/libharness.a $(BUILD)/libcore.a
	$(CC) $(CFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

$(BUILD)/tests/%: $(BUILD)/tests/%.o $(SUPPORT_O) $(BUILD)/libharness.a $(BUILD)/libcore.a
	$(CC) $(CFLAGS) -rdynamic -o $@ $^ $(LDLIBS) -lcmocka

# ---- the CUDA backend: libtaper_gpu.so where nvcc and cuDNN are. NVCC_ARCH: what it is compiled for.
NVCC ?= $(or $(shell command -v nvcc),$(wildcard /usr/local/cuda/bin/nvcc))
NVCC_ARCH ?= 80 90
CUDA_HOME := $(patsubst %/bin/nvcc,%,$(realpath $(NVCC)))
CUDNN_H := $(firstword $(wildcard $(CUDA_HOME)/include/cudnn.h /usr/include/cudnn.h /usr/include/*/cudnn.h \
	/usr/local/include/cudnn.h))
GPU_MISSING := $(strip $(if $(NVCC),,nvcc) $(if $(CUDNN_H),,cuDNN))
CUDA_LIBS = $(firstword $(wildcard $(CUDA_HOME)/lib64 $(CUDA_HOME)/lib))
CUDA_C := $(wildcard gpu/*.c) core/base/error.c core/ops/gpu_logits.c core/base/memory.c
CUDA_O := $(CUDA_C:%.c=$(BUILD)/cuda/%.o) $(patsubst %,$(BUILD)/cuda/%.o,$(wildcard gpu/*.cu))
comma := ,
# PTX of the last one as well, for devices that come later. Registers spilt to memory are an error.
NVCCFLAGS := -std=c++17 -O3 -lineinfo $(foreach a,$(NVCC_ARCH),-gencode arch=compute_$(a)$(comma)code=sm_$(a)) \
	-gencode arch=compute_$(lastword $(NVCC_ARCH))$(comma)code=compute_$(lastword $(NVCC_ARCH)) \
	-Xptxas --warn-on-spills,--warning-as-error -Xcompiler -fPIC,-fvisibility=hidden,-fno-threadsafe-statics

ifneq ($(filter release clang,$(FLAVOUR)),)
ifeq ($(GPU_MISSING),)
all: $(BUILD)/libtaper_gpu.so
else
all: gpu-absent
endif
endif

gpu-absent:
	@echo 'libtaper_gpu.so is not built: no $(GPU_MISSING) here (everything else is)'

$(BUILD)/cuda/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -isystem $(CUDA_HOME)/include -isystem $(dir $(CUDNN_H)) $(CFLAGS) -fPIC -fvisibility=hidden -c -o $@ $<

$(BUILD)/cuda/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(NVCC) $(NVCCFLAGS) $(CPPFLAGS) -MMD -MP -c -o $@ $<

# C alone, no C++ library; a machine without CUDA's libraries cannot load it and says which one is missing.
$(BUILD)/libtaper_gpu.so: $(CUDA_O)
	$(CC) -shared -o $@ $^ -L$(CUDA_LIBS) -Wl,-rpath,$(CUDA_LIBS) -Wl,--no-undefined -lcudart_static -lcublasLt -lcudnn \
	  -ldl -lrt -lpthread -lm

# The tests build gpu/*.c and gpu/*.cu for the CPU, over a simulated device.
CXX := $(if $(filter clang%,$(CC)),clang++-14,g++)
HAVE_CXX := $(shell command -v $(CXX))
CXXFLAGS := -std=c++17 -g $(OPT) -Wall -Wextra -Wshadow -fno-strict-aliasing -MMD -MP
GPU_SIM_O := $(patsubst %.c,$(BUILD)/sim/%.o,$(filter-out %_cuda.c,$(wildcard gpu/*.c)) tests/gpu/interpret.c) \
	$(patsubst %,$(BUILD)/sim/%.o,$(wildcard gpu/*.cu tests/gpu/*.cpp))
GPU_TESTS := $(wildcard tests/test_gpu_*.c)
GPU_TEST_BINS := $(GPU_TESTS:tests/%.c=$(BUILD)/tests/%)
# Fibers and the thread sanitizer do not mix, and the dialect needs a C++ compiler: the tests then say so and skip.
GPU_SKIP := $(if $(filter tsan,$(FLAVOUR)),the thread sanitizer does not know fibers,$(if $(HAVE_CXX),,no C++ compiler))
ifneq ($(GPU_SKIP),)
GPU_SIM_O :=
$(GPU_TEST_BINS:=.o): CPPFLAGS += -DGPU_SKIP='"$(GPU_SKIP)"'
endif

$(BUILD)/sim/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(BUILD)/sim/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) -x c++ -c -o $@ $<

$(BUILD)/sim/%.cpp.o: %.cpp
	@mkdir -p $(@D)
	$(CXX) $(CPPFLAGS) $(CXXFLAGS) -c -o $@ $<

$(GPU_TEST_BINS): $(BUILD)/tests/%: $(BUILD)/tests/%.o $(GPU_SIM_O) $(SUPPORT_O) $(BUILD)/libharness.a $(BUILD)/libcore.a
	$(CC) $(CFLAGS) -rdynamic -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LDLIBS) -lcmocka $(if $(GPU_SIM_O),-lstdc++)

# Plans of cuDNN are built with no device, by a stand-in for the driver's library. Not under sanitizers.
PLANS := $(BUILD)/tests/test_gpu_plans
PLANS_SKIP := $(if $(filter release clang,$(FLAVOUR)),$(GPU_MISSING:%=no %),cuDNN is not run under sanitizers)
ifeq ($(PLANS_SKIP),)
$(PLANS): $(BUILD)/cuda/gpu/plan_cuda.o | $(BUILD)/tests/gpu/libcuda.so.1
$(PLANS): LDLIBS += -L$(CUDA_LIBS) -Wl,-rpath,$(CUDA_LIBS) -lcudnn
$(PLANS).o: CPPFLAGS += -isystem $(CUDA_HOME)/include -isystem $(dir $(CUDNN_H)) \
	-DFAKE_CUDA='"$(BUILD)/tests/gpu/libcuda.so.1"'
else
$(PLANS).o: CPPFLAGS += -DPLANS_SKIP='"$(PLANS_SKIP)"'
endif

$(BUILD)/tests/gpu/libcuda.so.1: tests/gpu/fakecuda/fakecuda.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O1 -Wall -Wextra -fPIC -shared -Wl,-soname,libcuda.so.1 -o $@ $<

# What the loading test gives to the loader.
$(BUILD)/tests/gpu/lib%.so: tests/gpu/libraries/%.c $(wildcard gpu/*.h) core/ops/gpu_load.h core/ops/ops.h
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) -std=gnu11 -O1 -Wall -Wextra -fPIC -shared -o $@ $<
GPU_TEST_LIBS := $(patsubst tests/gpu/libraries/%.c,$(BUILD)/tests/gpu/lib%.so,$(wildcard tests/gpu/libraries/*.c))
$(BUILD)/tests/test_gpu_load $(BUILD)/tests/test_gpu_run: | $(GPU_TEST_LIBS)
$(BUILD)/tests/test_gpu_load.o $(BUILD)/tests/test_gpu_run.o: \
	CPPFLAGS += -DLIBRARIES='"$(BUILD)/tests/gpu"' -DGPU_MISSING='"$(GPU_MISSING)"'

# What needs a device: its checks and timings.
GPU_TOOL_O := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/main.c,$(wildcard tests/gpu/tool/*.c)))
$(BUILD)/gpu_tool: $(BUILD)/tests/gpu/tool/main.o $(GPU_TOOL_O) $(SUPPORT_O) $(BUILD)/libharness.a $(BUILD)/libcore.a
	$(CC) $(CFLAGS) -rdynamic -o $@ $^ $(LDLIBS) -lcmocka
$(BUILD)/tests/test_gpu_tool: $(GPU_TOOL_O)

gpu-check: all $(BUILD)/gpu_tool ## check the CUDA backend on a device (5 minutes; says 'skipped: no device' without)
	@tests/gpu/tool/gpu_check.sh $(BUILD)

gpu-bench: all $(BUILD)/gpu_tool ## time it: steps of every size, several runs at once, decoding (5 minutes)
	@timeout --kill-after=5 290 $(BUILD)/gpu_tool bench --json $(BUILD)/gpu-bench.json || \
	  { echo "FAILED or stopped after 290 seconds; what was measured is in $(BUILD)/gpu-bench.json"; exit 1; }

.PHONY: gpu-absent gpu-check gpu-bench
-include $(GPU_TOOL_O:.o=.d) $(BUILD)/tests/gpu/tool/main.d
-include $(GPU_SIM_O:.o=.d) $(CUDA_O:.o=.d)

# Without cmocka the test programs are not built, and tests/run.sh skips each by its name.
HAVE_CMOCKA := $(shell pkg-config --exists cmocka && echo yes)
tests: $(BUILD)/taper $(BUILD)/taper-supervisor $(if $(HAVE_CMOCKA),$(TEST_BINS))

test: all tests ## build and run every test (T=name runs the matching ones)
	@tests/run.sh $(if $(T),-p $(T)) $(BUILD)

bench: all $(BENCH_BINS) ## measure speed (never part of the tests)
	@for b in $(BENCH_BINS); do $$b || exit 1; done
	@echo; $(PYTHON) tests/bench_pytorch.py

fuzz: ## feed the parsers rubbish (FUZZ_SECONDS each, seeds in tests/fuzz; FUZZ_TARGETS to choose)
	@$(MAKE) --no-print-directory FLAVOUR=fuzz $(FUZZ_BINS)
	@tests/fuzz.sh build/fuzz $(FUZZ_SECONDS) $(FUZZ_TARGETS)

torture: all ## 1,000 rounds of kills (ROUNDS to set) at the daemon and its workers, 50 power cuts (CUTS); minutes
	@ROUNDS=$${ROUNDS:-1000} TAPER=$(CURDIR)/$(BUILD)/taper LC_ALL=C.UTF-8 tests/cli/torture.sh
	@CUTS=$${CUTS:-50} TAPER=$(CURDIR)/$(BUILD)/taper LC_ALL=C.UTF-8 tests/cli/powercut.sh

asan ubsan tsan clang: ## build in this flavour and run its part of the tests
	@$(MAKE) --no-print-directory FLAVOUR=$@ test

headers: ## compile every public header alone
	@set -e; for h in $(HEADERS); do \
	  printf '#include "%s"\n' $$h | $(CC) $(CPPFLAGS) -std=gnu11 $(WARN) -Werror -fsyntax-only -xc -; done

lint: headers lint-format lint-cppcheck ## static checks: every header alone, the formatter, the order of the rooms, cppcheck
	tests/rooms.sh

lint-format:
	@command -v clang-format > /dev/null || { echo 'lint: no clang-format'; exit 1; }
	clang-format --dry-run -Werror $(FORMATTED)

lint-cppcheck:
	cppcheck -q --std=c11 --enable=warning,portability --inline-suppr --suppressions-list=tests/cppcheck.txt \
	  '-Djson_array_foreach(a,i,v)=for(i=0;i<2;i++)' '-Djson_object_foreach(o,k,v)=for(;o;)' --error-exitcode=1 -I. core harness

format: ## format every source file in place
	clang-format -i $(FORMATTED)

# What a user gets: the program, the CUDA backend where it was built, man page, completions, the sweeps as examples.
PREFIX  ?= /usr/local
DESTDIR ?=
BINDIR   = $(DESTDIR)$(PREFIX)/bin
LIBDIR   = $(DESTDIR)$(PREFIX)/lib/taper
SHAREDIR = $(DESTDIR)$(PREFIX)/share

install: all ## install the program (PREFIX, DESTDIR)
	install -d $(BINDIR) $(SHAREDIR)/man/man1 $(SHAREDIR)/bash-completion/completions \
	  $(SHAREDIR)/zsh/site-functions $(SHAREDIR)/fish/vendor_completions.d $(SHAREDIR)/doc/taper \
	  $(SHAREDIR)/taper/experiments
	install -m 755 $(BUILD)/taper $(BINDIR)/taper
	install -m 644 docs/taper.1 $(SHAREDIR)/man/man1/taper.1
	$(BUILD)/taper completion bash > $(SHAREDIR)/bash-completion/completions/taper
	$(BUILD)/taper completion zsh > $(SHAREDIR)/zsh/site-functions/_taper
	$(BUILD)/taper completion fish > $(SHAREDIR)/fish/vendor_completions.d/taper.fish
	install -m 644 README.md LICENSE CHANGELOG.md $(filter-out docs/taper.1,$(wildcard docs/*)) $(SHAREDIR)/doc/taper
	install -m 644 experiments/*.yaml $(SHAREDIR)/taper/experiments
	install -d $(LIBDIR)
	install -m 755 $(BUILD)/taper-supervisor $(LIBDIR)/taper-supervisor
	if [ -e $(BUILD)/libtaper_gpu.so ]; then \
	  install -m 755 $(BUILD)/libtaper_gpu.so $(LIBDIR)/libtaper_gpu.so; fi

uninstall: ## remove what install put there (the same PREFIX, DESTDIR)
	rm -f $(BINDIR)/taper $(SHAREDIR)/man/man1/taper.1 $(SHAREDIR)/bash-completion/completions/taper \
	  $(SHAREDIR)/zsh/site-functions/_taper $(SHAREDIR)/fish/vendor_completions.d/taper.fish
	rm -rf $(LIBDIR) $(SHAREDIR)/doc/taper $(SHAREDIR)/taper

man: $(BUILD)/taper ## write the option lists of docs/taper.1 anew, from the program's rows
	@$(BUILD)/taper help --man > $(BUILD)/options.roff
	@sed -i -e '/^\.\\" options: begin/r $(BUILD)/options.roff' -e '/^\.\\" options: begin/,/^\.\\" options: end/{/^\.\\" options:/!d}' \
	  docs/taper.1

print-flags: # how a file is compiled, for tests/cli/clang.sh
	@echo '$(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS))'

compdb: ## write compile_commands.json
	bear -- $(MAKE) -B all

clean: ## remove everything that was built
	rm -rf build taper compile_commands.json

-include $(CORE_O:.o=.d) $(HARNESS_O:.o=.d) $(SUPPORT_O:.o=.d) $(BUILD)/harness/main.d $(BUILD)/harness/supervisor.d \
	$(TEST_BINS:=.d) $(BENCH_BINS:=.d) $(FUZZ_BINS:=.d)
