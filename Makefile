# Short names for the usual things; meson does the work.
.PHONY: all test clean release fuzz bench format

all: build/build.ninja
	@ninja -C build --quiet

build/build.ninja:
	@meson setup build --werror -Db_sanitize=address,undefined -Db_lundef=false > /dev/null

test: all
	@tools/test

clean:
	rm -rf build b-*
