# syscheck: build, install, test. `make help` lists the targets.
PREFIX        ?= /usr/local
override PREFIX := $(patsubst %/,%,$(PREFIX))
ifeq ($(filter /%,$(PREFIX)),)
$(error PREFIX must be an absolute path below /, not "$(PREFIX)")
endif
SYSCONFDIR    ?= $(if $(filter /usr /usr/local,$(PREFIX)),/etc,$(PREFIX)/etc)
LOCALSTATEDIR ?= $(if $(filter /usr /usr/local,$(PREFIX)),/var,$(PREFIX)/var)
RUNDIR        ?= $(if $(filter /usr /usr/local,$(PREFIX)),/run,$(PREFIX)/run)/syscheck
BINDIR        := $(PREFIX)/bin
LIBDIR        := $(PREFIX)/lib/syscheck
LIBEXECDIR    := $(PREFIX)/libexec/syscheck
DATADIR       := $(PREFIX)/share/syscheck
MANDIR        := $(PREFIX)/share/man
BASHCOMPDIR   := $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR    := $(PREFIX)/share/zsh/site-functions
VERSION       := 0.1.0
LUA           ?= $(firstword $(shell command -v lua5.4 lua54 lua 2>/dev/null) /usr/bin/lua5.4)

# -O3 for the kernels: their loops must vectorise. The instruction set is chosen at
# run time, so the binaries run on any CPU of the architecture.
CFLAGS   ?= -O2 -g
WARN     := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2
HARDEN   := -D_FORTIFY_SOURCE=2 -fstack-protector-strong
ALL_CFLAGS  = -std=gnu11 $(WARN) $(HARDEN) -D_GNU_SOURCE -ffile-prefix-map='$(CURDIR)'=. -DSYSCHECK_VERSION='"$(VERSION)"' $(CFLAGS)
ALL_LDFLAGS = -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack $(LDFLAGS)

# Asked only when the kernels are built, so that `make help` needs nothing.
HWLOC_CFLAGS = $(shell pkg-config --cflags hwloc)
HWLOC_LIBS   = $(shell pkg-config --libs hwloc)
BLAS_CFLAGS  = $(shell pkg-config --cflags openblas)
BLAS_LIBS    = $(shell pkg-config --libs openblas)
# The site's OpenMPI: make MPICC=/path/mpicc. No libraries: there is none (MPICH's mpicc does not know the option).
MPICC        ?= mpicc
MPI_CFLAGS    = $(shell $(MPICC) --showme:compile)
MPI_LIBS     := $(shell $(MPICC) --showme:link 2>/dev/null)

B           := build
# A kernel is a folder of kernels/: its objects and those of common/. The units are all but the main files.
KERNELS     := $(filter-out common $(if $(MPI_LIBS),,fabric),$(sort $(patsubst kernels/%/,%,$(dir $(wildcard kernels/*/*.c)))))
objects      = $(patsubst %.c,$(B)/obj/%.o,$(wildcard kernels/$1/*.c))
# Of fabric only those without MPI.
UNITS_OBJ   := $(filter-out $(foreach k,$(KERNELS),$(B)/obj/kernels/$k/$k.o) $(call objects,fabric),$(call objects,*)) \
	$(patsubst %,$(B)/obj/kernels/fabric/%.o,errors links plan sizes stamp tcp)
UNITS       := $(B)/obj/kernels/units.a
# What one kernel needs beyond the others: CFLAGS_<kernel>, LIBS_<kernel>.
CFLAGS_dgemm = $(BLAS_CFLAGS)
LIBS_dgemm   = $(BLAS_LIBS)
CFLAGS_fabric = $(MPI_CFLAGS)
LIBS_fabric  = $(MPI_LIBS)
SPANK_OBJ   := $(patsubst %.c,$(B)/%.o,$(wildcard spank/*.c))
BENCH       := $(patsubst tests/bench/%.c,$(B)/tests/bench/%,$(wildcard tests/bench/*.c))
C_TESTS     := $(patsubst tests/c/%.c,$(B)/tests/c/%,$(wildcard tests/c/test_*.c))
FUZZ_C      := $(patsubst tests/fuzz/c/%.c,build/fuzz/tests/fuzz/%,$(wildcard tests/fuzz/c/*.c))
# Read by the tests: what the plugin parses, without a Slurm include.
SPANK_PURE  := $(patsubst %,$(B)/spank/%.o,level status sentence cgroup cgroup_file energy place stopped tell totals totals_file)

Q := $(if $(V),,@)

.DEFAULT_GOAL := all
.PHONY: all kernels plugin setup setup-check stage install check check-asan lint demo bench bench-detect bench-store bench-why bench-fabric demo-fabric faults fuzz fuzz-build clean help

all: setup-check kernels plugin stage ## Build everything into build/ (build/prefix runs in place)

kernels: $(KERNELS:%=$(B)/kernels/%)
	$(if $(MPI_LIBS),,@echo "fabric: no OpenMPI's $(MPICC) here, left out; install libopenmpi-dev, or make MPICC=/path/mpicc")

plugin: $(B)/spank/spank_syscheck.so

setup: ## Install what is missing to build and test (Debian 12 or newer; apt)
	$(Q)tests/setup.sh install

setup-check:
	$(Q)tests/setup.sh check build

$(B)/obj/kernels/%.o: kernels/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -O3 -pthread $(HWLOC_CFLAGS) $(CFLAGS_$(notdir $(<D))) -Ikernels -MMD -MP -c -o $@ $<

$(foreach k,$(KERNELS),$(eval $(B)/kernels/$k: $(call objects,$k)))

$(KERNELS:%=$(B)/kernels/%): $(B)/kernels/%: $(call objects,common)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -pthread $(ALL_LDFLAGS) -o $@ $^ $(HWLOC_LIBS) $(LIBS_$*) -lnuma -lm

# q, not r: files of several kernels have the same name.
$(UNITS): $(UNITS_OBJ)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(B)/spank/%.o: spank/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(B)/spank/spank_syscheck.so: $(SPANK_OBJ) spank/plugin.map
	$(Q)$(CC) -shared -pthread $(ALL_CFLAGS) $(ALL_LDFLAGS) -Wl,-z,nodelete,--version-script=spank/plugin.map -o $@ $(SPANK_OBJ)

$(B)/tests/c/%: tests/c/%.c $(UNITS) $(SPANK_PURE)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -pthread $(HWLOC_CFLAGS) -Ikernels -Ispank -MMD -MP $(ALL_LDFLAGS) -o $@ $< $(SPANK_PURE) $(UNITS) $(HWLOC_LIBS) -lnuma -lcmocka -lm

# A parser under libFuzzer, see FUZZ_MAKE.
FUZZ_KERNELS := $(patsubst %,$(B)/obj/kernels/%.o,common/opts common/topo common/memory common/read common/result noise/proc)
$(B)/tests/fuzz/%: tests/fuzz/c/%.c $(SPANK_PURE) $(FUZZ_KERNELS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer $(HWLOC_CFLAGS) -Ikernels -Ispank -MMD -MP $(ALL_LDFLAGS) -o $@ $(filter %.c %.o,$^) $(HWLOC_LIBS) -lnuma -lm

$(B)/tests/bench/%: tests/bench/%.c $(UNITS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -O3 -pthread $(HWLOC_CFLAGS) $(BLAS_CFLAGS) -Ikernels -MMD -MP $(ALL_LDFLAGS) -o $@ $< $(UNITS) $(HWLOC_LIBS) $(BLAS_LIBS) -lnuma -lm

# One recipe for every destination: a package (DESTDIR), a site (PREFIX), the
# tree that runs in place (build/prefix), a test cluster's own copy.
INSTALL_ARGS = DESTDIR='$(DESTDIR)' BINDIR='$(BINDIR)' LIBDIR='$(LIBDIR)' LIBEXECDIR='$(LIBEXECDIR)' \
	DATADIR='$(DATADIR)' MANDIR='$(MANDIR)' SYSCONFDIR='$(SYSCONFDIR)' LOCALSTATEDIR='$(LOCALSTATEDIR)' \
	RUNDIR='$(RUNDIR)' BASHCOMPDIR='$(BASHCOMPDIR)' ZSHCOMPDIR='$(ZSHCOMPDIR)' LUA='$(LUA)' VERSION='$(VERSION)' KERNELS='$(KERNELS)'

install: kernels plugin ## Install; DESTDIR=, PREFIX= (default /usr/local), SYSCONFDIR=, LOCALSTATEDIR=, RUNDIR=
	$(Q)$(INSTALL_ARGS) tests/install.sh
	@echo 'installed in $(DESTDIR)$(PREFIX); now: syscheck setup (docs/install.md)'

stage: $(B)/prefix/.staged

$(B)/prefix/.staged: $(KERNELS:%=$(B)/kernels/%) $(B)/spank/spank_syscheck.so tests/install.sh \
		$(shell find lua prolog epilog etc docs/man -type f 2>/dev/null)
	$(Q)$(MAKE) --no-print-directory install PREFIX='$(CURDIR)/$(B)/prefix' DESTDIR= >/dev/null
	@touch $@
	@echo 'built; it runs in place: $(B)/prefix/bin/syscheck run'

check: setup ## Install what is missing, build, run every test
	$(Q)$(MAKE) --no-print-directory all $(C_TESTS) fuzz-build
	$(Q)tests/run.sh

# The same rules into another directory.
SANITIZE = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
ASAN_MAKE = $(MAKE) --no-print-directory B=build/asan CFLAGS='$(SANITIZE)'

check-asan: setup ## A short run of every kernel and the C units under the sanitizers
	$(Q)$(ASAN_MAKE) kernels $(patsubst $(B)/%,build/asan/%,$(C_TESTS))
	$(Q)tests/asan.sh $(KERNELS:%=build/asan/kernels/%) -- $(patsubst $(B)/%,build/asan/%,$(C_TESTS))

# The same rules once more, by the compiler that has libFuzzer.
FUZZ_MAKE = $(MAKE) --no-print-directory B=build/fuzz CC=clang \
	CFLAGS='-O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'

fuzz-build: # what `make fuzz` and its short form in the tests run
	$(Q)$(FUZZ_MAKE) $(FUZZ_C)

fuzz: setup fuzz-build ## Fuzz every parser of text that others write (75 min on 2 CPUs; FUZZ=1000000 inputs each, PARSERS="place conf")
	$(Q)tests/fuzz/fuzz.sh $(or $(FUZZ),1000000) $(PARSERS)

faults: setup ## Do 170 faults to a real Slurm; count wrong drains, missed nodes, held jobs, lost records (75 min; FAULTS="clock scancel")
	$(Q)tests/setup.sh install faults
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/faults/faults.py --json $(B)/bench/faults.json --table $(B)/bench/faults.md $(FAULTS)

lint: setup ## shellcheck, luacheck, mandoc, clang-tidy
	$(Q)tests/lint.sh

demo: setup ## The story: a slow node is drained, the job is requeued and explained (KEEP=1 leaves the cluster up)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/demo.sh

bench: setup ## Kernels beside their peers, and what checks cost beyond them (ROUNDS=7, ISA=avx2)
	$(Q)tests/setup.sh install bench
	$(Q)$(MAKE) --no-print-directory all $(BENCH)
	$(Q)tests/bench/kernels.lua $(if $(ISA),--isa $(ISA)) $(ROUNDS)

demo-fabric: setup ## The network: a cluster with leaf switches, one link of it made slow, and who is named (KEEP=1)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/demo-fabric.sh

bench-detect: setup ## What checks find and whom they drain wrongly: real quotas, a simulated fleet, busy neighbours (20 min, CHECKS=20)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/bench/detect.sh
	$(Q)tests/bench/busy.sh

bench-store: setup ## Ingest, size, questions on 1,000,000 records (N=10000000; 20 min), PostgreSQL beside SQLite
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/bench/store.sh $(N)

bench-why: setup ## How often `why` names the planted node and cause first, and an innocent one (60 min, SEEDS="1 2" CASES=300)
	$(Q)tests/bench/why.sh

bench-fabric: setup ## Who is named of planted network faults: simulated, 16 to 10,000 nodes, and real ones (15 min, SEEDS="1 2")
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/bench/fabric.sh

clean: ## Remove build/
	$(Q)rm -rf $(B)

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

-include $(shell find $(B)/obj $(B)/spank $(B)/tests -type f -name '*.d' 2>/dev/null)
