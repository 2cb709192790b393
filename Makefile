# The one door to the project: everything is installed, from locked versions, into .venv of this checkout.
# Needs Python 3.11+, cargo and make. Nothing needs root but test-system, test-fleet, test-vm,
# test-release and the zram part of bench.

UV_VERSION := 0.13.8
UV_MINIMUM := 0.9.0
# The uv at hand where it is new enough to read uv.lock; otherwise one of our own, in .tools.
UV := $(shell found=$$(uv --version 2>/dev/null | cut -d' ' -f2); \
	printf '%s\n' $(UV_MINIMUM) "$${found:-0}" | sort -CV && echo uv || echo .tools/uv/bin/uv)
# Where the system says whom to trust, so does it for uv: a company's proxy may have an authority of its own.
ifneq ($(wildcard /etc/ssl/certs/ca-certificates.crt),)
export UV_SYSTEM_CERTS ?= true
endif
# Let Python keep compiled modules: tests start thousands of processes, which would take longer to compile than to work.
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
CARGO_TEST := --workspace --exclude iogauge-py
# Tests often wait: for a run, a disk, a process or a drive. On two CPUs three processes keep them busy. Quick tests of
# a file stay in one process while all are busy; slow ones go to whichever is free, but those of tests/published stay with
# their file (tests/conftest.py).
PROCESSES := $(shell n=$$(nproc); echo $$((n + n / 2 > 8 ? 8 : n + n / 2)))
PYTEST := $(BIN)/python -m pytest --numprocesses $(PROCESSES)
# Where tests are marked slow: what is not collected costs no time.
SLOW = $$(grep -rl --include='test_*.py' 'mark\.slow' tests/fast tests/published tests/traps)

SYSTEM_TOOLS := blkparse chromium-headless-shell fio losetup nbdcopy nbdinfo qemu-img strace addpart dmsetup cryptsetup mkswap mkfs.btrfs mkfs.ext4 mkfs.f2fs mkfs.ntfs mkfs.vfat mkfs.xfs

.PHONY: help setup system-tools check check-python check-rust test test-slow test-all test-timed test-system test-devices \
	test-alone test-fleet test-release vm-image test-vm test-vm-guests test-wheel test-arm fuzz demo docs man bench wheels deb image clean
.DEFAULT_GOAL := help

help:
	@echo "make demo         set up, load a 1 GiB file and two drive models with writes, leave demo/report.html (a minute)"
	@echo "make test         check, Rust tests, Python tests: minutes, without root"
	@echo "make test-all     make test, and the tests marked slow"
	@echo "make setup        .venv with the command .venv/bin/iogauge, from locked versions"
	@echo "make check        formatting, lints, types, order of dependence"
	@echo "make test-timed   TIMES over (20): tests that read a clock or start processes and threads; for a busy machine"
	@echo "make test-system  as root: real block devices, fio cross-checks"
	@echo "make test-fleet   as root: fleets that lose hosts, controllers and networks (minutes)"
	@echo "make test-release as root: cases that the other tests leave out; before a release (an hour)"
	@echo "make test-vm      as root: a guest in QEMU with NVMe drives (minutes; downloads Debian once)"
	@echo "make fuzz         a million broken inputs to everything that reads what others wrote (hours)"
	@echo "make docs         the documents as a searchable site, in site/"
	@echo "make man          a manual page for each command, in man/"
	@echo "make bench        side by side with fio; as root also on zram"
	@echo "make wheels       wheels for x86_64 and aarch64, and the source distribution, in dist/"
	@echo "make deb          a Debian package of the wheel, for this machine's release, in dist/"
	@echo "make image        an OCI image of that package"
	@echo "make test-arm     models give the same bytes by seed on aarch64, under qemu-user"
	@echo "make test-wheel   the wheel in a clean environment, without cargo: a demo and the package's tests"

# With a wheel in WHEELS whose core was compiled from the same sources, setup compiles nothing and needs no cargo.
export IOGAUGE_WHEELS ?= $(abspath $(or $(WHEELS),dist))

setup: $(filter .tools/%,$(UV))
	@command -v cargo >/dev/null || python3 packaging/prebuilt.py "$(IOGAUGE_WHEELS)" >/dev/null || \
	{ echo "setup: cargo is missing, and no wheel in $(IOGAUGE_WHEELS) fits; get Rust from https://rustup.rs" >&2; exit 1; }
	@[ -d .venv ] || echo "setup: installing into .venv, and building the Rust core unless a wheel has it (minutes, once)"
	@$(UV) sync --locked --quiet

# pip's --target works with externally managed Pythons too; a venv where pip itself is missing.
.tools/uv/bin/uv:
	@echo "setup: installing uv $(UV_VERSION) into .tools"
	@python3 -m pip install --quiet --disable-pip-version-check --target .tools/uv uv==$(UV_VERSION) 2>/dev/null \
	|| { rm -rf .tools/uv && python3 -m venv .tools/uv && .tools/uv/bin/python -m pip install --quiet uv==$(UV_VERSION); }

check: setup
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,--jobs 2) --output-sync check-python check-rust
	@echo "check: formatting, lints, types and order of dependence are in order"

# The parts of check, which runs setup first.
check-python:
	@$(BIN)/ruff format --quiet --check --diff .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary
	@said=$$($(BIN)/lint-imports --no-logo 2>&1) || { echo "$$said"; exit 1; }

check-rust:
	@cargo fmt --all --check
	@cargo clippy --quiet --locked --workspace --all-targets -- -D warnings

test: check
	@cargo test --quiet --locked $(CARGO_TEST)
	@$(PYTEST) --dist worksteal -m "not slow and not release"

test-slow: setup
	@$(PYTEST) --dist loadgroup -m "slow and not release" $(SLOW)

test-all: test
	@$(MAKE) --no-print-directory test-slow

TIMES := 20
TIMED := ^(import|from) (signal|subprocess|threading|time)\b|import execute|"run",|tests.served

test-timed: setup
	@for turn in $$(seq $(TIMES)); do echo "test-timed: $$turn of $(TIMES)"; \
	cargo test --quiet --locked -p iogauge-engine -p iogauge-nbd || exit 1; \
	$(PYTEST) --dist worksteal -m "not slow and not release" -k "not on_a_drive_model and not every_drive" \
	$$(grep -lrE --include='test_*.py' '$(TIMED)' tests/fast tests/traps) || exit 1; done

test-system: test-devices
	@$(MAKE) --no-print-directory test-alone

# The files that take longest are first, so that no process is left with one of them at the end. Others are named one by
# one: of a directory and its files, pytest leaves only the directory.
LONGEST := $(addprefix tests/system/,test_review_kill.py test_suites_block.py test_report_accessible.py \
	fio/test_generated_jobs.py test_report_first_screen.py)
SYSTEM_TESTS = $(LONGEST) $(filter-out $(LONGEST),$(sort $(shell find tests/system -name 'test_*.py')))

system-tools:
	@[ "$$(id -u)" = 0 ] || { echo "make test-system needs root: it makes loop, zram and device-mapper devices" >&2; exit 1; }
	@missing=; for tool in $(SYSTEM_TOOLS); do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	[ -z "$$missing" ] || { echo "make test-system lacks:$$missing" >&2; \
	echo "hint: on Debian, apt-get install $$(sed -n 's/^PACKAGES=//p' .ci/run | tr -d '()')" >&2; exit 1; }

test-devices: setup system-tools
	@$(PYTEST) --dist loadgroup --no-loadscope-reorder -m "not alone and not fleet and not release" $(SYSTEM_TESTS)

# Fleets of real processes in network namespaces: killed, cut off, on a full disk. They mostly wait: for steps, and for
# leases to end.
test-fleet: setup
	@[ "$$(id -u)" = 0 ] || { echo "make test-fleet needs root: it makes network namespaces" >&2; exit 1; }
	@missing=; for tool in ip nsenter ss ssh-keygen /usr/sbin/sshd; do command -v $$tool >/dev/null || \
	missing="$$missing $$tool"; done; [ -z "$$missing" ] || { echo "make test-fleet lacks:$$missing" >&2; \
	echo "hint: on Debian, apt-get install iproute2 openssh-client openssh-server util-linux" >&2; exit 1; }
	@$(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m fleet tests/system/fleet

test-alone: setup
	@$(BIN)/python -m pytest -m alone $$(grep -rl --include='test_*.py' 'mark\.alone' tests/system)

# Cases that the other tests leave out.
test-release: vm-image system-tools
	@$(PYTEST) --dist loadgroup -m release tests/fast tests/published tests/traps tests/system tests/vm

VM_TOOLS := qemu-system-x86_64 mmdebstrap mkfs.ext4 taskset dpkg-buildpackage dh

# The guest's kernel and root disk, in .vm: Debian's packages are downloaded once, iogauge is put in each time.
vm-image: setup
	@[ "$$(id -u)" = 0 ] || { echo "make vm-image needs root: it makes a Debian system" >&2; exit 1; }
	@missing=; for tool in $(VM_TOOLS); do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	[ -z "$$missing" ] || { echo "make vm-image lacks:$$missing" >&2; \
	echo "hint: on Debian, apt-get install qemu-system-x86 mmdebstrap e2fsprogs util-linux dpkg-dev debhelper" >&2; exit 1; }
	@sh tests/vm/image.sh "$(UV)" .vm

# The longest file is first, so that no process is left with it at the end. One file: make test-vm VM=tests/vm/test_tune.py
LONGEST_VM := tests/vm/test_review.py
VM = $(LONGEST_VM) $(filter-out $(LONGEST_VM),$(sort $(wildcard tests/vm/test_*.py)))

test-vm: vm-image
	@$(MAKE) --no-print-directory test-vm-guests

test-vm-guests:
	@$(PYTEST) --dist loadfile --no-loadscope-reorder -m "not release" $(VM)

# Which targets and how many inputs: make fuzz FUZZ="--runs 20000 plan model"
fuzz: setup
	@$(UV) sync --locked --quiet --group fuzz
	@$(BIN)/python -m tests.fuzz $(FUZZ)

# Models need no drive, so they run at once; nothing else runs while the file is measured.
DEMO_MODELS := p4800x p3700-800g

demo: setup
	@mkdir -p demo && rm -rf demo/reviews demo/failed && mkdir demo/reviews
	@$(BIN)/iogauge review demo/target.bin --suite write-pressure --pace quick --output demo/reviews/file
	@echo "demo: the models of $(DEMO_MODELS)"
	@for model in $(DEMO_MODELS); do \
	$(BIN)/iogauge review model:$$model --suite write-pressure --pace quick --output demo/reviews/$$model \
	>demo/$$model.log 2>&1 || { cat demo/$$model.log; touch demo/failed; } & done; wait; [ ! -e demo/failed ]
	@$(BIN)/iogauge report demo/reviews/file $(DEMO_MODELS:%=demo/reviews/%) --output demo/report.html
	@echo "demo: open $(CURDIR)/demo/report.html"
	@echo "demo: browse the reviews: .venv/bin/iogauge web demo/reviews"

# --strict: a warning or a link that leads nowhere fails the build.
docs: setup
	@$(UV) sync --locked --quiet --group docs
	@said=$$(NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict 2>&1) || { echo "$$said"; exit 1; }
	@echo "docs: open $(CURDIR)/site/index.html, or to search: $(BIN)/python -m http.server --directory site"

# A manual page for each command, made of its help: man ./man/iogauge-review.1
man: setup
	@$(BIN)/python docs/man.py man
	@echo "man: man $(CURDIR)/man/iogauge.1"

bench: setup
	@$(BIN)/python -m bench

# The processors that wheels are for: make wheels MACHINES=x86_64
MACHINES := x86_64 aarch64

wheels: $(filter .tools/%,$(UV))
	@command -v rustc >/dev/null || { echo "wheels: Rust is missing; get it from https://rustup.rs" >&2; exit 1; }
	@packaging/wheels.sh "$(UV)" dist $(MACHINES)
	@echo "wheels: in dist: $$(cd dist && echo *.whl *.tar.gz)"

# A package fits one Python, that is one release of Debian, and one processor: make deb PYTHON=3.13 MACHINE=aarch64
MACHINE := $(shell uname -m)
PYTHON := $(shell /usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)

deb: setup
	@missing=; for tool in dpkg-buildpackage dh lintian; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	[ -z "$$missing" ] || { echo "deb: missing:$$missing" >&2; \
	echo "hint: on Debian, apt-get install dpkg-dev debhelper lintian" >&2; exit 1; }
	@[ -n "$(PYTHON)" ] || { echo "deb: say which Python the release has: make deb PYTHON=3.13" >&2; exit 1; }
	@packaging/wheels.sh "$(UV)" dist $(MACHINE)
	@packaging/deb.sh "$(UV)" dist $(MACHINE) $(PYTHON)
	@lintian --fail-on error,warning $$([ "$$(id -u)" != 0 ] || echo --allow-root) dist/*.deb
	@echo "deb: $$(echo dist/*.deb)"

# The image is Debian 13 with the package: make image BUILDER=docker BASE=debian:trixie-slim
BUILDER = $(firstword $(foreach tool,podman buildah docker,$(shell command -v $(tool) >/dev/null && echo $(tool))))
BASE :=

image:
	@[ -n "$(BUILDER)" ] || { echo "image: podman, buildah or docker is needed" >&2; exit 1; }
	@$(MAKE) --no-print-directory deb PYTHON=3.13
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BUILDER) build --file Containerfile $(if $(BASE),--build-arg BASE=$(BASE)) \
	--tag iogauge:latest .
	@echo "image: iogauge:latest"

test-wheel:
	@[ -n "$(wildcard dist/*.whl)" ] || $(MAKE) --no-print-directory wheels MACHINES=$(MACHINE)
	@$(MAKE) --no-print-directory $(filter .tools/%,$(UV))
	@packaging/test-wheel.sh "$(UV)" dist

# The release of Debian whose Python for aarch64 runs under qemu-user.
RELEASE := bookworm

test-arm: setup
	@missing=; for tool in mmdebstrap qemu-aarch64-static; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	[ -z "$$missing" ] || { echo "test-arm: missing:$$missing" >&2; \
	echo "hint: on Debian, apt-get install mmdebstrap qemu-user-static" >&2; exit 1; }
	@$(MAKE) --no-print-directory wheels MACHINES=aarch64
	@packaging/test-arm.sh "$(UV)" dist $(RELEASE)

clean:
	rm -rf dist target .venv .tools .vm demo site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache python/iogauge/_core*.so
