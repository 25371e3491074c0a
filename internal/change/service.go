package change

import (
	"github.com/scriptorium-dev/scriptorium/internal/database"
	"github.com/scriptorium-dev/scriptorium/internal/event"
)

// Service writes and reads the change log.
type Service struct {
	db  *database.DB
	bus event.Bus
}

// NewService makes the service; what is written is told on the bus.
func NewService(db *database.DB, bus event.Bus) *Service { return &Service{db: db, bus: bus} }
