# What people do with Scriptorium. `make help` lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run build image image-update image-if-possible generate generate-check lint needs test test-go e2e bench demo fuzz clean

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GVISOR_VERSION := $(shell go list -m -f '{{.Version}}' gvisor.dev/gvisor 2>/dev/null)
LISTEN ?= 127.0.0.1:8080
DATA ?= data
FUZZTIME ?= 20s
export CGO_ENABLED ?= 0

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: build image-if-possible ## Build everything and serve (LISTEN=127.0.0.1:8080 DATA=data)
	./bin/scriptorium serve --listen "$(LISTEN)" --data "$(DATA)"

build: bin/runsc ## Build bin/scriptorium and bin/runsc
	go build -trimpath -ldflags "-X main.version=$(VERSION)" -o bin/scriptorium ./cmd/scriptorium

# A static one: a dynamic runsc cannot start its sandbox. gVisor's version is empty unless it is linked in.
bin/runsc: FORCE
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X gvisor.dev/gvisor/runsc/version.version=$(GVISOR_VERSION)" -o $@ ./cmd/runsc
FORCE:

image: ## Build the image that computers start from; IMAGE_PACKAGES="python3-numpy" adds packages
	@scripts/image.sh

image-update: ## Build the image again, of its packages' newest versions
	@scripts/image.sh --update

# Where it cannot be built, this says so and goes on: computers then use this machine's own /usr, read-only.
image-if-possible:
	@scripts/image.sh --soft

generate: ## Generate the storage code and the GraphQL executor
	go generate ./ent ./graph/generated

generate-check: generate ## Fail where generated code differs from what is committed
	@git diff --exit-code -- ent graph resolvers schema || { echo 'make generate changes files: commit them'; exit 1; }

lint: ## gofmt, vet, staticcheck, and who may import whom
	@bad=$$(git ls-files '*.go' | grep -v '^ent/db/' | xargs gofmt -l); [ -z "$$bad" ] || { echo "gofmt would change: $$bad"; exit 1; }
	go vet ./...
	cd tools && go build -o ../bin/staticcheck honnef.co/go/tools/cmd/staticcheck
	bin/staticcheck ./...
	go test -count=1 ./internal/architecture

needs: ## Install what the tests need, where it is missing (Debian's packages)
	@scripts/needs.sh

test: needs build image-if-possible ## Run all tests: Go's with the race detector, then real clients against a real server
	scripts/test.sh

test-go: build image-if-possible ## Run Go's tests only; ARGS="./internal/script -run TestS1Cap"
	CGO_ENABLED=1 go run ./internal/database/databasetest/cmd/testservices -- go test -race $(or $(ARGS),./...)

e2e: build image-if-possible ## Run the end-to-end tests only
	e2e/run.sh

bench: build image-if-possible ## Measure, as ratios in one run; fails past a bar
	CGO_ENABLED=0 go run ./e2e/bench

demo: build image-if-possible ## Save, run and check a real program on a throw-away server
	CGO_ENABLED=0 go run ./e2e/demo

fuzz: ## Fuzz everything that parses, FUZZTIME each
	scripts/fuzz.sh $(FUZZTIME)

clean: ## Remove what was built
	rm -rf bin
