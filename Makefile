# The phone book: `make help` lists what there is.
BUILD ?= build
.PHONY: help build test
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16
build: ## build the program (build/trilha) and the library
	@test -f $(BUILD)/build.ninja || meson setup $(BUILD) >/dev/null
	@ninja -C $(BUILD)
test: build ## build and run all tests
	@meson test -C $(BUILD) --print-errorlogs
