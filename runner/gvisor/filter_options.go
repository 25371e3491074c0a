package gvisor

import (
	"gvisor.dev/gvisor/pkg/sentry/platform"
	"gvisor.dev/gvisor/runsc/boot/filter/config"

	_ "gvisor.dev/gvisor/pkg/sentry/platform/systrap" // so that it can be looked up
)

// FilterOptions are the options of the sandboxes that the runner makes, with and without access to the host's files by descriptors
// (--directfs): without a network of the host's, without devices.
func FilterOptions() (all []config.Options) {
	systrap, err := platform.Lookup("systrap")
	if err != nil {
		return nil
	}
	for _, info := range systrap.PrecompiledSeccompInfo() {
		all = append(all, config.Options{Platform: info}, config.Options{Platform: info, HostFilesystem: true})
	}
	return all
}
