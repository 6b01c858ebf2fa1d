# Short names for the usual things; meson does the work.
.PHONY: all clang release install uninstall image deb test bench fuzz manual packaging format coverage clean

all: build/build.ninja          ## build/pumice with ASan and UBSan: the developer's build
	@ninja -C build --quiet
build/build.ninja:
	@meson setup build --werror -Doptimization=1 -Db_sanitize=address,undefined -Db_lundef=false > $(@D).log || { cat $(@D).log; rm -rf $(@D); exit 1; }

clang: b-clang/build.ninja      ## the same code through the other compiler, for its warnings and the static program
	@ninja -C b-clang --quiet
b-clang/build.ninja:
	@CC=clang meson setup b-clang --werror -Doptimization=0 -Ddebug=false > $(@D).log || { cat $(@D).log; rm -rf $(@D); exit 1; }

release: b-release/build.ninja  ## b-release/pumice, optimised
	@ninja -C b-release --quiet pumice
b-release/build.ninja:
	@meson setup b-release -Dbuildtype=release -Dstrip=true > $(@D).log || { cat $(@D).log; rm -rf $(@D); exit 1; }

PREFIX ?= /usr/local
install: release                ## the program, its manual page and completions, below PREFIX (and DESTDIR)
	@tools/install b-release/pumice $(DESTDIR)$(PREFIX)
uninstall:                      ## take that away again
	@tools/uninstall $(DESTDIR)$(PREFIX)

image: b-release/build.ninja    ## b-release/pumice.tar: the container image, an OCI archive
	@ninja -C b-release --quiet pumice-static
	@tools/image b-release/pumice-static b-release/pumice.tar

deb: release                    ## b-release/pumice_VERSION_ARCH.deb
	@tools/deb b-release/pumice b-release

test:                           ## everything CI runs
	@tools/test

bench: b-bench/build.ninja      ## ratios; see docs/bench.md
	@ninja -C b-bench --quiet bench/bench_json bench/bench_render bench/bench_controller bench/bench_sched bench/bench_store
	b-bench/bench/bench_json
	b-bench/bench/bench_render
	b-bench/bench/bench_controller
	b-bench/bench/bench_sched
	b-bench/bench/bench_store b-bench
	@ninja -C b-bench --quiet pumice bench/bench_floor
	bench/plan
	bench/run
b-bench/build.ninja:
	@tools/deps bench
	@meson setup b-bench -Dbuildtype=release -Dbench=true > $(@D).log || { cat $(@D).log; rm -rf $(@D); exit 1; }

fuzz: b-fuzz/build.ninja        ## new inputs; see docs/fuzzing.md. SECONDS=600 make fuzz
	@ninja -C b-fuzz --quiet
	@tools/fuzz $(SECONDS)
b-fuzz/build.ninja:
	@tools/deps fuzz
	@CC=clang meson setup b-fuzz -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false > $(@D).log || { cat $(@D).log; rm -rf $(@D); exit 1; }

manual: all                     ## docs/pumice.1 and docs/plugins.md from the program's own tables
	@build/pumice manual > docs/pumice.1
	@build/pumice plugins -o markdown > docs/plugins.md

packaging: all                  ## packaging/ (CRDs, kustomize base, Helm chart) from the program's own tables
	@build/pumice install --output packaging

format:
	@clang-format -i $$(find src fuzz bench tests -name '*.[ch]')

coverage:                       ## lines and branches that the tests execute; b-coverage, ten minutes
	@tools/coverage.py

clean:
	rm -rf build b-* build.log
