package main

import (
	"io"
	"strings"
	"testing"
	"time"
)

func environment(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := values[name]; return v, ok }
}

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	c, err := parseConfig("serve", nil, environment(nil), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:8080" || c.Data != "data" || c.ComputerIdle != 10*time.Minute || c.CallTimeoutLimit != 10*time.Minute {
		t.Errorf("defaults: %+v", c)
	}
}

func TestConfigFlagGoesBeforeEnvironment(t *testing.T) {
	t.Parallel()
	env := environment(map[string]string{"SCRIPTORIUM_DATA": "/env", "SCRIPTORIUM_LISTEN": "[::1]:1", "SCRIPTORIUM_ALLOWED_ORIGINS": "https://a.example, https://b.example:1"})
	c, err := parseConfig("serve", []string{"--data", "/flag"}, env, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if c.Data != "/flag" || c.Listen != "[::1]:1" || len(c.AllowedOrigins) != 2 {
		t.Errorf("%+v", c)
	}
}

func TestConfigFaultsAreReportedTogether(t *testing.T) {
	t.Parallel()
	env := environment(map[string]string{"SCRIPTORIUM_COMPUTER_IDLE": "soon"})
	_, err := parseConfig("serve", []string{"--listen", "nowhere", "--data", "", "--database-url", "mysql://u:secret@h/d", "--redis-url", "http://h", "--call-timeout-limit", "1500ms", "--computers", "0",
		"--queue", "0", "--isolation", "most", "--allowed-origins", "app.example.org", "extra"}, env, io.Discard)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"--listen", "--data", "--database-url", "--redis-url", "--call-timeout-limit", "--computers", "--queue", "--isolation", "--allowed-origins", `"extra"`, "SCRIPTORIUM_COMPUTER_IDLE"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not reported in: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Error("a password is shown")
	}
}

func TestConfigOfEachCommand(t *testing.T) {
	t.Parallel()
	if _, err := parseConfig("serve", []string{"--isolation", "full", "--image", "host"}, environment(nil), io.Discard); err == nil || !strings.Contains(err.Error(), "needs an image") {
		t.Errorf("an isolation that cannot be: %v", err)
	}
	env := environment(map[string]string{"SCRIPTORIUM_ISOLATION": "image", "SCRIPTORIUM_DATA": "/env"})
	c, err := parseConfig("doctor", []string{"--json", "--computers", "3"}, env, io.Discard)
	if err != nil || c.Isolation != "image" || c.Data != "/env" || !c.JSON || c.Computers != 3 {
		t.Errorf("%+v, %v", c, err)
	}
	for command, flag := range map[string]string{"serve": "--json", "doctor": "--listen=x", "migrate": "--isolation=any"} {
		if _, err := parseConfig(command, []string{flag}, environment(nil), io.Discard); err == nil {
			t.Errorf("%s takes %s", command, flag)
		}
	}
}
