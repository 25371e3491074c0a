-- Disable the enforcement of foreign-keys constraints
PRAGMA foreign_keys = off;
-- Create "new_calls" table
CREATE TABLE `new_calls` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `agent_id` text NULL,
  `key_id` text NOT NULL,
  `tool` text NOT NULL,
  `script_id` text NULL,
  `version_id` text NULL,
  `arguments` blob NOT NULL,
  `input` blob NULL,
  `timeout_seconds` integer NOT NULL,
  `status` text NOT NULL,
  `error_code` text NULL,
  `cancel` text NOT NULL DEFAULT (''),
  `text` blob NOT NULL,
  `exit_code` integer NULL,
  `signal` text NULL,
  `stdout` blob NOT NULL,
  `stderr` blob NOT NULL,
  `truncated` bool NOT NULL DEFAULT (false),
  `stdout_bytes` integer NOT NULL DEFAULT (0),
  `stdout_sha256` text NULL,
  `stderr_bytes` integer NOT NULL DEFAULT (0),
  `stderr_sha256` text NULL,
  `dropped_bytes` integer NOT NULL DEFAULT (0),
  `output_chunks` integer NOT NULL DEFAULT (0),
  `output_blob` text NULL,
  `started_at` datetime NULL,
  `finished_at` datetime NULL,
  `duration_ms` integer NULL,
  `cpu_ms` integer NULL,
  `peak_memory_bytes` integer NULL,
  `organization_id` text NOT NULL,
  `run_id` text NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `calls_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION,
  CONSTRAINT `calls_runs_run` FOREIGN KEY (`run_id`) REFERENCES `runs` (`id`) ON DELETE SET NULL
);
-- Copy rows from old table "calls" to new temporary table "new_calls"
INSERT INTO `new_calls` (`id`, `created_at`, `agent_id`, `key_id`, `tool`, `script_id`, `version_id`, `arguments`, `input`, `timeout_seconds`, `status`, `error_code`, `cancel`, `text`, `exit_code`, `signal`, `stdout`, `stderr`, `truncated`, `stdout_bytes`, `stdout_sha256`, `stderr_bytes`, `stderr_sha256`, `dropped_bytes`, `output_blob`, `started_at`, `finished_at`, `duration_ms`, `cpu_ms`, `peak_memory_bytes`, `organization_id`, `run_id`) SELECT `id`, `created_at`, `agent_id`, `key_id`, `tool`, `script_id`, `version_id`, `arguments`, `input`, `timeout_seconds`, `status`, `error_code`, `cancel`, `text`, `exit_code`, `signal`, `stdout`, `stderr`, `truncated`, `stdout_bytes`, `stdout_sha256`, `stderr_bytes`, `stderr_sha256`, `dropped_bytes`, `output_blob`, `started_at`, `finished_at`, `duration_ms`, `cpu_ms`, `peak_memory_bytes`, `organization_id`, `run_id` FROM `calls`;
-- Drop "calls" table after copying rows
DROP TABLE `calls`;
-- Rename temporary table "new_calls" to "calls"
ALTER TABLE `new_calls` RENAME TO `calls`;
-- Create index "call_organization_id_id" to table: "calls"
CREATE INDEX `call_organization_id_id` ON `calls` (`organization_id`, `id`);
-- Create index "call_organization_id_run_id_id" to table: "calls"
CREATE INDEX `call_organization_id_run_id_id` ON `calls` (`organization_id`, `run_id`, `id`);
-- Create index "call_organization_id_script_id_status" to table: "calls"
CREATE INDEX `call_organization_id_script_id_status` ON `calls` (`organization_id`, `script_id`, `status`);
-- Create index "call_status_run_id_id" to table: "calls"
CREATE INDEX `call_status_run_id_id` ON `calls` (`status`, `run_id`, `id`);
-- Create "new_runs" table
CREATE TABLE `new_runs` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `key_id` text NOT NULL,
  `status` text NOT NULL,
  `generation` integer NOT NULL DEFAULT (0),
  `scripting` bool NOT NULL DEFAULT (false),
  `environment` blob NOT NULL,
  `tools` blob NOT NULL,
  `owner` text NOT NULL DEFAULT (''),
  `owner_token` integer NOT NULL DEFAULT (0),
  `owner_until` datetime NULL,
  `finished_at` datetime NULL,
  `organization_id` text NOT NULL,
  `agent_id` text NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `runs_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION,
  CONSTRAINT `runs_agents_agent` FOREIGN KEY (`agent_id`) REFERENCES `agents` (`id`) ON DELETE SET NULL
);
-- Copy rows from old table "runs" to new temporary table "new_runs"
INSERT INTO `new_runs` (`id`, `created_at`, `key_id`, `status`, `generation`, `environment`, `tools`, `owner`, `owner_token`, `owner_until`, `finished_at`, `organization_id`, `agent_id`) SELECT `id`, `created_at`, `key_id`, `status`, `generation`, `environment`, `tools`, `owner`, `owner_token`, `owner_until`, `finished_at`, `organization_id`, `agent_id` FROM `runs`;
-- Drop "runs" table after copying rows
DROP TABLE `runs`;
-- Rename temporary table "new_runs" to "runs"
ALTER TABLE `new_runs` RENAME TO `runs`;
-- Create index "run_organization_id_id" to table: "runs"
CREATE INDEX `run_organization_id_id` ON `runs` (`organization_id`, `id`);
-- Create index "run_organization_id_agent_id_id" to table: "runs"
CREATE INDEX `run_organization_id_agent_id_id` ON `runs` (`organization_id`, `agent_id`, `id`);
-- Create index "run_owner_owner_until" to table: "runs"
CREATE INDEX `run_owner_owner_until` ON `runs` (`owner`, `owner_until`);
-- Create "generations" table
CREATE TABLE `generations` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `status` text NOT NULL,
  `reason` text NOT NULL DEFAULT (''),
  `number` integer NOT NULL DEFAULT (0),
  `materialised` json NOT NULL,
  `removed` json NOT NULL,
  `ended_at` datetime NULL,
  `organization_id` text NOT NULL,
  `run_id` text NOT NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `generations_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION,
  CONSTRAINT `generations_runs_run` FOREIGN KEY (`run_id`) REFERENCES `runs` (`id`) ON DELETE NO ACTION
);
-- Create index "generation_organization_id_id" to table: "generations"
CREATE INDEX `generation_organization_id_id` ON `generations` (`organization_id`, `id`);
-- Create index "generation_run_id_status" to table: "generations"
CREATE INDEX `generation_run_id_status` ON `generations` (`run_id`, `status`);
-- Enable back the enforcement of foreign-keys constraints
PRAGMA foreign_keys = on;
