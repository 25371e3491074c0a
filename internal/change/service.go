package change

import (
	"context"

	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/event"
)

// Service writes and reads the change log.
type Service struct {
	db     *database.DB
	bus    event.Bus
	agents Agents
}

// Agents is what this package needs of the agents above it.
type Agents interface {
	// Exists says whether the organization has the agent.
	Exists(ctx context.Context, organizationID, agentID string) (bool, error)
}

// NewService makes the service; what is written is told on the bus.
func NewService(db *database.DB, bus event.Bus) *Service { return &Service{db: db, bus: bus} }

// Join gives the service the agents. Without them, the changes of any agent can be watched, also of one that does not exist.
func (s *Service) Join(agents Agents) { s.agents = agents }
