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
DOCDIR        := $(PREFIX)/share/doc/syscheck
UNITDIR       := $(PREFIX)/lib/systemd/system
TMPFILESDIR   := $(PREFIX)/lib/tmpfiles.d
SYSUSERSDIR   := $(PREFIX)/lib/sysusers.d
VERSION       := 0.1.0
LUA           ?= $(firstword $(shell command -v lua5.4 lua54 lua 2>/dev/null) /usr/bin/lua5.4)

# -O3 for the kernels: their loops must vectorise. The instruction set is chosen at
# run time, so the binaries run on any CPU of the architecture.
CFLAGS   ?= -O2 -g
WARN     := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2
HARDEN   := -D_FORTIFY_SOURCE=2 -fstack-protector-strong
ALL_CFLAGS  = -std=gnu11 $(WARN) $(HARDEN) -D_GNU_SOURCE -ffile-prefix-map='$(CURDIR)'=. $(CFLAGS)
ALL_LDFLAGS = -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack $(LDFLAGS)

# Asked only when the kernels are built, so that `make help` needs nothing.
PKG_CONFIG   ?= pkg-config
HWLOC_CFLAGS = $(shell $(PKG_CONFIG) --cflags hwloc)
HWLOC_LIBS   = $(shell $(PKG_CONFIG) --libs hwloc)
BLAS_CFLAGS  = $(shell $(PKG_CONFIG) --cflags openblas)
BLAS_LIBS    = $(shell $(PKG_CONFIG) --libs openblas)
# The site's OpenMPI: make MPICC=/path/mpicc. No libraries: there is none (MPICH's mpicc does not know the option).
MPICC        ?= mpicc
MPI_CFLAGS    = $(shell $(MPICC) --showme:compile)
MPI_LIBS     := $(shell $(MPICC) --showme:link 2>/dev/null)

# Lua's headers, by the first of the names that distributions have for them.
LUA_PC        = $(firstword $(foreach name,lua5.4 lua54 lua-5.4 lua,$(shell $(PKG_CONFIG) --atleast-version=5.4 $(name) 2>/dev/null && echo $(name))))
LUA_CFLAGS    = $(shell $(PKG_CONFIG) --cflags $(LUA_PC))

B           := build
# A kernel is a folder of kernels/: its objects and those of common/. The units are all but the main files.
KERNELS     := $(filter-out common $(if $(MPI_LIBS),,fabric),$(sort $(patsubst kernels/%/,%,$(dir $(wildcard kernels/*/*.c)))))
objects      = $(patsubst %.c,$(B)/obj/%.o,$(wildcard kernels/$1/*.c))
# Of fabric only those without MPI.
UNITS_OBJ   := $(filter-out $(foreach k,$(KERNELS),$(B)/obj/kernels/$k/$k.o) $(call objects,fabric),$(call objects,*)) \
	$(patsubst %,$(B)/obj/kernels/fabric/%.o,batches errors links plan sizes stamp tcp)
UNITS       := $(B)/obj/kernels/units.a
# What one kernel needs beyond the others: CFLAGS_<kernel>, LIBS_<kernel>.
CFLAGS_dgemm = $(BLAS_CFLAGS)
LIBS_dgemm   = $(BLAS_LIBS)
CFLAGS_fabric = $(MPI_CFLAGS)
LIBS_fabric  = $(MPI_LIBS)
# With what the plugin shares with the kernels.
SPANK_OBJ   := $(patsubst %.c,$(B)/%.o,$(wildcard spank/*.c)) $(B)/spank/common/uncore.o
# Beside Lua's modules that a distribution lacks, see etc/packages/lua-modules.sh.
NATIVE      := $(B)/lua/syscheck_native.so
NATIVE_OBJ  := $(patsubst %.c,$(B)/%.o,$(wildcard lua/native/*.c))
# Without Lua.
NATIVE_PURE := $(patsubst %,$(B)/lua/native/%.o,apart mounts path procs)
BENCH       := $(patsubst tests/bench/%.c,$(B)/tests/bench/%,$(wildcard tests/bench/*.c))
C_TESTS     := $(patsubst tests/c/%.c,$(B)/tests/c/%,$(wildcard tests/c/test_*.c))
FUZZ_C      := $(patsubst tests/fuzz/c/%.c,build/fuzz/tests/fuzz/%,$(wildcard tests/fuzz/c/*.c))
# Read by the tests: what the plugin parses, without a Slurm include.
SPANK_PURE  := $(patsubst %,$(B)/spank/%.o,level blank status sentence cgroup cgroup_file energy group memory place sampler stopped tell totals totals_file trusted)

Q := $(if $(V),,@)

.DEFAULT_GOAL := all
.PHONY: all kernels plugin setup setup-check stage install uninstall dist packages check check-slurm check-arch check-asan lint demo bench bench-detect bench-store bench-why bench-fabric bench-noise-scale demo-fabric faults fuzz fuzz-build clean help

all: setup-check kernels plugin $(B)/built stage ## Build everything into build/ (build/prefix runs in place)

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

# Written only when the version is another one: make VERSION=
$(B)/version: FORCE
	@mkdir -p $(@D)
	@[ "$$(cat $@ 2>/dev/null)" = '$(VERSION)' ] || echo '$(VERSION)' >$@
FORCE:

$(B)/obj/kernels/common/version.o: ALL_CFLAGS += -DSYSCHECK_VERSION='"$(VERSION)"'
$(B)/obj/kernels/common/version.o: $(B)/version

$(foreach k,$(KERNELS),$(eval $(B)/kernels/$k: $(call objects,$k)))

$(KERNELS:%=$(B)/kernels/%): $(B)/kernels/%: $(call objects,common)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -pthread $(ALL_LDFLAGS) -o $@ $^ $(HWLOC_LIBS) $(LIBS_$*) -lnuma -lm

# q, not r: files of several kernels have the same name.
$(UNITS): $(UNITS_OBJ)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(B)/spank/%.o: spank/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -Ikernels -MMD -MP -c -o $@ $<

$(B)/spank/common/%.o: kernels/common/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(B)/spank/spank_syscheck.so: $(SPANK_OBJ) spank/plugin.map
	$(Q)$(CC) -shared -pthread $(ALL_CFLAGS) $(ALL_LDFLAGS) -Wl,-z,nodelete,--version-script=spank/plugin.map -o $@ $(SPANK_OBJ)

$(filter-out $(NATIVE_PURE),$(NATIVE_OBJ)): ALL_CFLAGS += $(if $(LUA_PC),$(LUA_CFLAGS),$(error no headers of Lua 5.4 here: install liblua5.4-dev (Debian), lua-devel (EL) or lua54-devel (SLES)))
$(B)/lua/native/%.o: lua/native/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -Ikernels -MMD -MP -c -o $@ $<

$(NATIVE): $(NATIVE_OBJ)
	$(Q)$(CC) -shared $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $(NATIVE_OBJ)

$(B)/tests/c/%: tests/c/%.c $(UNITS) $(SPANK_PURE) $(NATIVE_PURE)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -DSYSCHECK_VERSION='"$(VERSION)"' -pthread $(HWLOC_CFLAGS) -Ikernels -Ispank -Ilua -MMD -MP $(ALL_LDFLAGS) -o $@ $< $(SPANK_PURE) $(NATIVE_PURE) $(UNITS) $(HWLOC_LIBS) -lnuma -lcmocka -lm

# A parser under libFuzzer, see FUZZ_MAKE.
FUZZ_KERNELS := $(patsubst %,$(B)/obj/kernels/%.o,common/opts common/topo common/memory common/read common/result common/uncore common/version noise/proc)
$(B)/tests/fuzz/%: tests/fuzz/c/%.c $(SPANK_PURE) $(FUZZ_KERNELS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer $(HWLOC_CFLAGS) -Ikernels -Ispank -MMD -MP $(ALL_LDFLAGS) -o $@ $(filter %.c %.o,$^) $(HWLOC_LIBS) -lnuma -lm

$(B)/tests/bench/%: tests/bench/%.c $(UNITS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -O3 -pthread $(HWLOC_CFLAGS) $(BLAS_CFLAGS) -Ikernels -MMD -MP $(ALL_LDFLAGS) -o $@ $< $(UNITS) $(HWLOC_LIBS) $(BLAS_LIBS) -lnuma -lm

# What `make install` needs to find, see etc/packages/built.sh.
$(B)/built: $(KERNELS:%=$(B)/kernels/%) $(B)/spank/spank_syscheck.so $(NATIVE)
	$(Q)etc/packages/built.sh write '$(VERSION)' $(KERNELS) >$@.new && mv $@.new $@

# One recipe for every destination: a package (DESTDIR), a site (PREFIX), the
# tree that runs in place (build/prefix), a test cluster's own copy.
INSTALL_ARGS = DESTDIR='$(DESTDIR)' BINDIR='$(BINDIR)' LIBDIR='$(LIBDIR)' LIBEXECDIR='$(LIBEXECDIR)' \
	DATADIR='$(DATADIR)' MANDIR='$(MANDIR)' DOCDIR='$(DOCDIR)' SYSCONFDIR='$(SYSCONFDIR)' LOCALSTATEDIR='$(LOCALSTATEDIR)' \
	RUNDIR='$(RUNDIR)' BASHCOMPDIR='$(BASHCOMPDIR)' ZSHCOMPDIR='$(ZSHCOMPDIR)' UNITDIR='$(UNITDIR)' \
	TMPFILESDIR='$(TMPFILESDIR)' SYSUSERSDIR='$(SYSUSERSDIR)' LUA='$(LUA)' VERSION='$(VERSION)'

# Where build/ is finished nothing is compiled, and no header, compiler or mpicc is asked for.
install: ## Install; DESTDIR=, PREFIX= (default /usr/local), SYSCONFDIR=, LOCALSTATEDIR=, RUNDIR=
	$(Q)etc/packages/built.sh check '$(VERSION)' || $(MAKE) --no-print-directory setup-check $(B)/built
	$(Q)$(INSTALL_ARGS) etc/packages/install.sh
	@echo 'installed in $(DESTDIR)$(PREFIX); now: syscheck setup ($(DOCDIR)/install.md)'

uninstall: ## Remove what install put there, with the same DESTDIR=, PREFIX= ...; first Slurm's lines: syscheck setup --undo
	$(Q)$(INSTALL_ARGS) etc/packages/uninstall.sh

dist: ## The sources of the last commit as build/dist/syscheck-VERSION.tar.gz, the same bytes in every clone
	$(Q)etc/packages/dist.sh

packages: ## .deb and .rpm of what is built, in build/packages (SLURM_PACKAGE=, see docs/packages.md)
	$(Q)etc/packages/built.sh check '$(VERSION)' || $(MAKE) --no-print-directory setup-check $(B)/built
	$(Q)SLURM_PACKAGE='$(SLURM_PACKAGE)' etc/packages/packages.sh '$(VERSION)' '$(MAKE)' '$(LUA)'

stage: $(B)/prefix/.staged

$(B)/prefix/.staged: $(B)/built etc/packages/install.sh CHANGELOG.md README.md \
		$(shell find lua prolog epilog etc docs -type f 2>/dev/null)
	$(Q)$(MAKE) --no-print-directory install PREFIX='$(CURDIR)/$(B)/prefix' DESTDIR= >/dev/null
	@touch $@
	@echo 'built; it runs in place: $(B)/prefix/bin/syscheck run'

check: setup ## Install what is missing, build, run every test (TESTS="60-cluster test_level" only these)
	$(Q)$(MAKE) --no-print-directory all $(C_TESTS) fuzz-build
	$(Q)tests/run.sh $(TESTS)

# Other Debians, each in a directory of its own (tests/root.sh).
ROOTS ?= $(B)/roots

check-slurm: setup ## Demo and tests on another Debian's Slurm (SUITE=trixie: 24.11, forky: 26.05; TESTS="60-cluster" only these, DEMO=0)
	$(Q)tests/root.sh make $(or $(SUITE),trixie) $(ROOTS)/$(or $(SUITE),trixie) --setup build --setup cluster --setup test
	$(Q)tests/root.sh run $(ROOTS)/$(or $(SUITE),trixie) --tree -- \
		make check TESTS='$(if $(filter 0,$(DEMO)),,tests/cluster/demo.bats) $(or $(TESTS),all)'

# For each architecture the name of its compiler, and what readelf calls it.
ARCH ?= arm64
TRIPLET_arm64 = aarch64-linux-gnu AArch64
ARCH_LIBS = libhwloc-dev libnuma-dev libopenblas-dev libslurm-dev libcmocka-dev

check-arch: setup ## Kernels, plugin and C units for ARCH=arm64, cross-built and run under qemu: right results, no speeds
	$(if $(TRIPLET_$(ARCH)),,$(error ARCH=$(ARCH): its compiler is not known here, only arm64's))
	$(Q)tests/root.sh make trixie $(ROOTS)/$(ARCH) --arch $(ARCH) make pkg-config crossbuild-essential-$(ARCH) qemu-user \
		bats perl lua5.4 lua-cjson $(ARCH_LIBS:%=%:$(ARCH))
	$(Q)tests/root.sh run $(ROOTS)/$(ARCH) --tree -- tests/arch/arch.sh $(TRIPLET_$(ARCH))

# The same rules into another directory.
SANITIZE = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
ASAN_MAKE = $(MAKE) --no-print-directory B=build/asan CFLAGS='$(SANITIZE)'

check-asan: setup ## A short run of every kernel and the C units under the sanitizers
	$(Q)$(ASAN_MAKE) kernels $(patsubst $(B)/%,build/asan/%,$(C_TESTS) $(NATIVE))
	$(Q)tests/asan.sh $(KERNELS:%=build/asan/kernels/%) -- $(patsubst $(B)/%,build/asan/%,$(C_TESTS) -- $(NATIVE))

# The same rules once more, by the compiler that has libFuzzer.
FUZZ_MAKE = $(MAKE) --no-print-directory B=build/fuzz CC=clang \
	CFLAGS='-O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'

fuzz-build: # what `make fuzz` and its short form in the tests run
	$(Q)$(FUZZ_MAKE) $(FUZZ_C)

fuzz: setup fuzz-build ## Fuzz every parser of text that others write (75 min on 2 CPUs; FUZZ=1000000 inputs each, PARSERS="place conf")
	$(Q)tests/fuzz/fuzz.sh $(or $(FUZZ),1000000) $(PARSERS)

faults: setup ## Do 172 faults to a real Slurm; count wrong drains, missed nodes, held jobs, lost records (75 min; FAULTS="clock scancel")
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

NOISE_WORLD := $(patsubst %,$(B)/tests/bench/noise_world/%,world brute selftest)
$(NOISE_WORLD): $(wildcard tests/bench/noise_world/*.[ch])
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -Wall -Wextra -Werror -o $@ tests/bench/noise_world/$(@F).c $(patsubst %,tests/bench/noise_world/%.c,$(if $(filter world,$(@F)),sources,traces course exact)) -lm

bench-noise-scale: setup ## What `noise` predicts beside brute force, halves of traces, LogGOPSim, real ranks (20 min, SEEDS="1 2" NODES=64)
	$(Q)$(MAKE) --no-print-directory all $(B)/tests/bench/noise_trace $(B)/tests/bench/inject $(NOISE_WORLD)
	$(Q)tests/bench/noise_scale.sh

clean: ## Remove build/
	$(Q)rm -rf $(B)

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

-include $(shell find $(B)/obj $(B)/lua $(B)/spank $(B)/tests -type f -name '*.d' 2>/dev/null)
