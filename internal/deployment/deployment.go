package deployment

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/scriptorium-dev/scriptorium/internal/key"
)

// Deployment is what a server tells of itself.
type Deployment struct {
	// Version is the program's.
	Version string
	// Limits is a JSON object: the name of each limit in force with its value, and its unit in the name.
	Limits json.RawMessage
	// Image is nil where there are no computers.
	Image *ComputerImage
}

// ComputerImage is what computers are made of.
type ComputerImage struct {
	// Digest names the computers' root: "sha256:" and 64 hexadecimal digits.
	Digest string
	// Fallback is true where the root is the host's own /usr, read-only, and not an image.
	Fallback bool
	// Runtimes are interpreters and libraries with their versions.
	Runtimes []string
	// Gvisor is its version, Platform how it runs programs.
	Gvisor, Platform string
}

// Limits are the limits in force, as clients read them.
type Limits map[string]int64

// Service answers the deployment. SetImage is called once the computers have been checked.
type Service struct {
	version string
	limits  json.RawMessage
	image   atomic.Pointer[ComputerImage]
}

// New makes the service.
func New(version string, limits Limits) (*Service, error) {
	raw, err := json.Marshal(limits)
	if err != nil {
		return nil, fmt.Errorf("the limits as JSON: %w", err)
	}
	return &Service{version: version, limits: raw}, nil
}

// SetImage says what computers are made of here.
func (s *Service) SetImage(image ComputerImage) { s.image.Store(&image) }

// Get answers the deployment. Any key may read it.
func (s *Service) Get(ctx context.Context) (*Deployment, error) {
	if _, err := key.From(ctx); err != nil {
		return nil, err
	}
	return &Deployment{Version: s.version, Limits: s.limits, Image: s.image.Load()}, nil
}
