-- Create "agents" table
CREATE TABLE `agents` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `name` text NOT NULL,
  `scripting` bool NOT NULL DEFAULT (true),
  `keeps_home` bool NOT NULL DEFAULT (false),
  `max_scripts` integer NOT NULL DEFAULT (10),
  `connected_tools` json NOT NULL,
  `tools` json NOT NULL,
  `updated_at` datetime NOT NULL,
  `deleted_at` datetime NULL,
  `organization_id` text NOT NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `agents_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION,
  CONSTRAINT `agents_max_scripts_positive` CHECK (max_scripts > 0)
);
-- Create index "agent_organization_id_id" to table: "agents"
CREATE INDEX `agent_organization_id_id` ON `agents` (`organization_id`, `id`);
-- Create "approvals" table
CREATE TABLE `approvals` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `version_id` text NOT NULL,
  `decision` text NOT NULL,
  `comment` text NOT NULL,
  `key_id` text NOT NULL,
  `organization_id` text NOT NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `approvals_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION
);
-- Create index "approval_organization_id_version_id_id" to table: "approvals"
CREATE INDEX `approval_organization_id_version_id_id` ON `approvals` (`organization_id`, `version_id`, `id`);
-- Create "artifacts" table
CREATE TABLE `artifacts` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `position` integer NOT NULL,
  `name` blob NOT NULL,
  `content_type` text NOT NULL,
  `sha256` text NOT NULL,
  `size` integer NOT NULL,
  `organization_id` text NOT NULL,
  `call_id` text NOT NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `artifacts_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION,
  CONSTRAINT `artifacts_calls_call` FOREIGN KEY (`call_id`) REFERENCES `calls` (`id`) ON DELETE NO ACTION
);
-- Create index "artifact_organization_id_id" to table: "artifacts"
CREATE INDEX `artifact_organization_id_id` ON `artifacts` (`organization_id`, `id`);
-- Create index "artifact_organization_id_call_id_position" to table: "artifacts"
CREATE UNIQUE INDEX `artifact_organization_id_call_id_position` ON `artifacts` (`organization_id`, `call_id`, `position`);
-- Create index "artifact_sha256" to table: "artifacts"
CREATE INDEX `artifact_sha256` ON `artifacts` (`sha256`);
-- Create "attachments" table
CREATE TABLE `attachments` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `organization_id` text NOT NULL,
  `position` integer NOT NULL,
  `file_id` text NOT NULL,
  `filename` text NOT NULL,
  `content_type` text NOT NULL,
  `sha256` text NOT NULL,
  `size` integer NOT NULL,
  `created_at` datetime NOT NULL,
  `run_id` text NOT NULL,
  CONSTRAINT `attachments_runs_run` FOREIGN KEY (`run_id`) REFERENCES `runs` (`id`) ON DELETE NO ACTION
);
-- Create index "attachment_organization_id_run_id_position" to table: "attachments"
CREATE UNIQUE INDEX `attachment_organization_id_run_id_position` ON `attachments` (`organization_id`, `run_id`, `position`);
-- Create index "attachment_organization_id_file_id" to table: "attachments"
CREATE INDEX `attachment_organization_id_file_id` ON `attachments` (`organization_id`, `file_id`);
-- Create index "attachment_sha256" to table: "attachments"
CREATE INDEX `attachment_sha256` ON `attachments` (`sha256`);
-- Create "blobs" table
CREATE TABLE `blobs` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `name` blob NOT NULL,
  `etag` text NOT NULL,
  `size` integer NOT NULL,
  `attributes` text NOT NULL,
  `created_at` datetime NOT NULL,
  `modified_at` datetime NOT NULL
);
-- Create index "blob_name" to table: "blobs"
CREATE UNIQUE INDEX `blob_name` ON `blobs` (`name`);
-- Create "blob_pieces" table
CREATE TABLE `blob_pieces` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `number` integer NOT NULL,
  `content` blob NOT NULL,
  `blob_id` integer NOT NULL,
  CONSTRAINT `blob_pieces_blobs_blob` FOREIGN KEY (`blob_id`) REFERENCES `blobs` (`id`) ON DELETE CASCADE
);
-- Create index "blobpiece_blob_id_number" to table: "blob_pieces"
CREATE UNIQUE INDEX `blobpiece_blob_id_number` ON `blob_pieces` (`blob_id`, `number`);
-- Create "calls" table
CREATE TABLE `calls` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `agent_id` text NULL,
  `key_id` text NOT NULL,
  `tool` text NOT NULL,
  `script_id` text NULL,
  `version_id` text NULL,
  `arguments` blob NOT NULL,
  `input` blob NULL,
  `trial` bool NOT NULL DEFAULT (false),
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
  `left` blob NULL,
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
  `end_reason` text NULL,
  `processes_killed` integer NULL,
  `isolation` blob NULL,
  `organization_id` text NOT NULL,
  `run_id` text NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `calls_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION,
  CONSTRAINT `calls_runs_run` FOREIGN KEY (`run_id`) REFERENCES `runs` (`id`) ON DELETE SET NULL
);
-- Create index "call_organization_id_id" to table: "calls"
CREATE INDEX `call_organization_id_id` ON `calls` (`organization_id`, `id`);
-- Create index "call_organization_id_run_id_id" to table: "calls"
CREATE INDEX `call_organization_id_run_id_id` ON `calls` (`organization_id`, `run_id`, `id`);
-- Create index "call_organization_id_script_id_status" to table: "calls"
CREATE INDEX `call_organization_id_script_id_status` ON `calls` (`organization_id`, `script_id`, `status`);
-- Create index "call_status_run_id_id" to table: "calls"
CREATE INDEX `call_status_run_id_id` ON `calls` (`status`, `run_id`, `id`);
-- Create "changes" table
CREATE TABLE `changes` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `offset` integer NOT NULL,
  `action` text NOT NULL,
  `agent_id` text NULL,
  `name` text NULL,
  `script_id` text NULL,
  `version_id` text NULL,
  `author_key_id` text NULL,
  `author_call_id` text NULL,
  `organization_id` text NOT NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `changes_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION
);
-- Create index "change_organization_id_offset" to table: "changes"
CREATE UNIQUE INDEX `change_organization_id_offset` ON `changes` (`organization_id`, `offset`);
-- Create index "change_organization_id_agent_id_offset" to table: "changes"
CREATE INDEX `change_organization_id_agent_id_offset` ON `changes` (`organization_id`, `agent_id`, `offset`);
-- Create "contents" table
CREATE TABLE `contents` (
  `id` text NOT NULL,
  `size` integer NOT NULL,
  `touched_at` datetime NOT NULL,
  PRIMARY KEY (`id`)
);
-- Create index "content_touched_at" to table: "contents"
CREATE INDEX `content_touched_at` ON `contents` (`touched_at`);
-- Create "files" table
CREATE TABLE `files` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `key_id` text NOT NULL,
  `filename` text NOT NULL,
  `content_type` text NOT NULL,
  `sha256` text NOT NULL,
  `size` integer NOT NULL,
  `organization_id` text NOT NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `files_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION
);
-- Create index "file_organization_id_id" to table: "files"
CREATE INDEX `file_organization_id_id` ON `files` (`organization_id`, `id`);
-- Create index "file_sha256" to table: "files"
CREATE INDEX `file_sha256` ON `files` (`sha256`);
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
-- Create "homes" table
CREATE TABLE `homes` (
  `agent_id` text NOT NULL,
  `run_id` text NOT NULL,
  `blob` text NOT NULL,
  `entries` integer NOT NULL,
  `bytes` integer NOT NULL,
  `left_out` integer NOT NULL,
  `kept_at` datetime NOT NULL,
  `organization_id` text NOT NULL,
  PRIMARY KEY (`agent_id`),
  CONSTRAINT `homes_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION
);
-- Create index "home_organization_id_agent_id" to table: "homes"
CREATE INDEX `home_organization_id_agent_id` ON `homes` (`organization_id`, `agent_id`);
-- Create "idempotencies" table
CREATE TABLE `idempotencies` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `organization_id` text NOT NULL,
  `key_id` text NOT NULL,
  `mutation` text NOT NULL,
  `idempotency_key` text NOT NULL,
  `input_sha256` blob NOT NULL,
  `answer` json NOT NULL,
  `created_at` datetime NOT NULL
);
-- Create index "idempotencies_once" to table: "idempotencies"
CREATE UNIQUE INDEX `idempotencies_once` ON `idempotencies` (`organization_id`, `key_id`, `mutation`, `idempotency_key`);
-- Create index "idempotency_created_at" to table: "idempotencies"
CREATE INDEX `idempotency_created_at` ON `idempotencies` (`created_at`);
-- Create "keys" table
CREATE TABLE `keys` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `name` text NOT NULL,
  `prefix` text NOT NULL,
  `secret_sha256` blob NOT NULL,
  `capabilities` json NOT NULL,
  `tool_rules` blob NULL,
  `exec_timeout_seconds` integer NULL,
  `operator` bool NOT NULL DEFAULT (false),
  `last_used_at` datetime NULL,
  `revoked_at` datetime NULL,
  `organization_id` text NOT NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `keys_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION
);
-- Create index "key_secret_sha256" to table: "keys"
CREATE UNIQUE INDEX `key_secret_sha256` ON `keys` (`secret_sha256`);
-- Create index "key_organization_id_id" to table: "keys"
CREATE INDEX `key_organization_id_id` ON `keys` (`organization_id`, `id`);
-- Create "organizations" table
CREATE TABLE `organizations` (
  `id` text NOT NULL,
  `name` text NOT NULL,
  `parent_id` text NULL,
  `versions_need_approval` bool NOT NULL DEFAULT (false),
  `change_head` integer NOT NULL DEFAULT (0),
  `created_at` datetime NOT NULL,
  PRIMARY KEY (`id`)
);
-- Create index "organization_parent_id" to table: "organizations"
CREATE INDEX `organization_parent_id` ON `organizations` (`parent_id`);
-- Create "runs" table
CREATE TABLE `runs` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `key_id` text NOT NULL,
  `status` text NOT NULL,
  `generation` integer NOT NULL DEFAULT (0),
  `direct` bool NOT NULL DEFAULT (false),
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
-- Create index "run_organization_id_id" to table: "runs"
CREATE INDEX `run_organization_id_id` ON `runs` (`organization_id`, `id`);
-- Create index "run_organization_id_agent_id_id" to table: "runs"
CREATE INDEX `run_organization_id_agent_id_id` ON `runs` (`organization_id`, `agent_id`, `id`);
-- Create index "run_owner_owner_until" to table: "runs"
CREATE INDEX `run_owner_owner_until` ON `runs` (`owner`, `owner_until`);
-- Create "run_tools" table
CREATE TABLE `run_tools` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `organization_id` text NOT NULL,
  `name` text NOT NULL,
  `script_id` text NOT NULL,
  `version_id` text NOT NULL,
  `run_id` text NOT NULL,
  CONSTRAINT `run_tools_runs_run` FOREIGN KEY (`run_id`) REFERENCES `runs` (`id`) ON DELETE NO ACTION
);
-- Create index "runtool_organization_id_run_id_name" to table: "run_tools"
CREATE UNIQUE INDEX `runtool_organization_id_run_id_name` ON `run_tools` (`organization_id`, `run_id`, `name`);
-- Create "scripts" table
CREATE TABLE `scripts` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `name` text NOT NULL,
  `latest_version_id` text NOT NULL,
  `latest_number` integer NOT NULL,
  `published` bool NOT NULL DEFAULT (true),
  `metadata` blob NULL,
  `updated_at` datetime NOT NULL,
  `deleted_at` datetime NULL,
  `organization_id` text NOT NULL,
  `agent_id` text NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `scripts_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION,
  CONSTRAINT `scripts_agents_agent` FOREIGN KEY (`agent_id`) REFERENCES `agents` (`id`) ON DELETE SET NULL
);
-- Create index "scripts_live_name" to table: "scripts"
CREATE UNIQUE INDEX `scripts_live_name` ON `scripts` (`organization_id`, `agent_id`, `name`) WHERE deleted_at IS NULL;
-- Create index "scripts_live_package" to table: "scripts"
CREATE UNIQUE INDEX `scripts_live_package` ON `scripts` (`organization_id`, `name`) WHERE deleted_at IS NULL AND agent_id IS NULL AND published;
-- Create index "script_organization_id_agent_id_id" to table: "scripts"
CREATE INDEX `script_organization_id_agent_id_id` ON `scripts` (`organization_id`, `agent_id`, `id`);
-- Create "script_labels" table
CREATE TABLE `script_labels` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `organization_id` text NOT NULL,
  `position` integer NOT NULL,
  `name` text NOT NULL,
  `value` text NOT NULL,
  `script_id` text NOT NULL,
  CONSTRAINT `script_labels_scripts_script` FOREIGN KEY (`script_id`) REFERENCES `scripts` (`id`) ON DELETE NO ACTION
);
-- Create index "scriptlabel_organization_id_script_id_name" to table: "script_labels"
CREATE UNIQUE INDEX `scriptlabel_organization_id_script_id_name` ON `script_labels` (`organization_id`, `script_id`, `name`);
-- Create index "scriptlabel_organization_id_name_value" to table: "script_labels"
CREATE INDEX `scriptlabel_organization_id_name_value` ON `script_labels` (`organization_id`, `name`, `value`);
-- Create "secrets" table
CREATE TABLE `secrets` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `name` text NOT NULL,
  `description` text NOT NULL,
  `sealed` blob NOT NULL,
  `key_id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `updated_at` datetime NOT NULL,
  `organization_id` text NOT NULL,
  `agent_id` text NOT NULL,
  CONSTRAINT `secrets_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION,
  CONSTRAINT `secrets_agents_agent` FOREIGN KEY (`agent_id`) REFERENCES `agents` (`id`) ON DELETE NO ACTION
);
-- Create index "secret_organization_id_agent_id_name" to table: "secrets"
CREATE UNIQUE INDEX `secret_organization_id_agent_id_name` ON `secrets` (`organization_id`, `agent_id`, `name`);
-- Create index "secret_key_id" to table: "secrets"
CREATE INDEX `secret_key_id` ON `secrets` (`key_id`);
-- Create "snapshots" table
CREATE TABLE `snapshots` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `organization_id` text NOT NULL,
  `run_id` text NOT NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `snapshots_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION,
  CONSTRAINT `snapshots_runs_run` FOREIGN KEY (`run_id`) REFERENCES `runs` (`id`) ON DELETE NO ACTION
);
-- Create index "snapshot_organization_id_run_id" to table: "snapshots"
CREATE UNIQUE INDEX `snapshot_organization_id_run_id` ON `snapshots` (`organization_id`, `run_id`);
-- Create "snapshot_entries" table
CREATE TABLE `snapshot_entries` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `organization_id` text NOT NULL,
  `name` text NOT NULL,
  `snapshot_id` text NOT NULL,
  `script_id` text NOT NULL,
  `version_id` text NOT NULL,
  CONSTRAINT `snapshot_entries_snapshots_snapshot` FOREIGN KEY (`snapshot_id`) REFERENCES `snapshots` (`id`) ON DELETE NO ACTION,
  CONSTRAINT `snapshot_entries_scripts_script` FOREIGN KEY (`script_id`) REFERENCES `scripts` (`id`) ON DELETE NO ACTION,
  CONSTRAINT `snapshot_entries_versions_version` FOREIGN KEY (`version_id`) REFERENCES `versions` (`id`) ON DELETE NO ACTION
);
-- Create index "snapshotentry_organization_id_snapshot_id_name" to table: "snapshot_entries"
CREATE UNIQUE INDEX `snapshotentry_organization_id_snapshot_id_name` ON `snapshot_entries` (`organization_id`, `snapshot_id`, `name`);
-- Create index "snapshotentry_organization_id_script_id" to table: "snapshot_entries"
CREATE INDEX `snapshotentry_organization_id_script_id` ON `snapshot_entries` (`organization_id`, `script_id`);
-- Create "versions" table
CREATE TABLE `versions` (
  `id` text NOT NULL,
  `created_at` datetime NOT NULL,
  `number` integer NOT NULL,
  `description` text NOT NULL,
  `parameters` blob NULL,
  `entrypoint` blob NULL,
  `source` text NOT NULL,
  `source_hash` text NOT NULL,
  `timeout_seconds` integer NOT NULL,
  `background` bool NOT NULL DEFAULT (false),
  `labels` blob NULL,
  `metadata` blob NULL,
  `published_at` datetime NULL,
  `rejected_at` datetime NULL,
  `fresh_interpreter` bool NOT NULL DEFAULT (false),
  `author_key_id` text NULL,
  `author_call_id` text NULL,
  `organization_id` text NOT NULL,
  `script_id` text NOT NULL,
  PRIMARY KEY (`id`),
  CONSTRAINT `versions_organizations_organization` FOREIGN KEY (`organization_id`) REFERENCES `organizations` (`id`) ON DELETE NO ACTION,
  CONSTRAINT `versions_scripts_script` FOREIGN KEY (`script_id`) REFERENCES `scripts` (`id`) ON DELETE NO ACTION,
  CONSTRAINT `versions_number_positive` CHECK (number > 0)
);
-- Create index "version_organization_id_script_id_number" to table: "versions"
CREATE UNIQUE INDEX `version_organization_id_script_id_number` ON `versions` (`organization_id`, `script_id`, `number`);
-- Create "version_files" table
CREATE TABLE `version_files` (
  `id` integer NOT NULL PRIMARY KEY AUTOINCREMENT,
  `organization_id` text NOT NULL,
  `path` text NOT NULL,
  `entry` bool NOT NULL DEFAULT (false),
  `sha256` text NOT NULL,
  `size` integer NOT NULL,
  `version_id` text NOT NULL,
  CONSTRAINT `version_files_versions_version` FOREIGN KEY (`version_id`) REFERENCES `versions` (`id`) ON DELETE NO ACTION
);
-- Create index "versionfile_organization_id_version_id_path" to table: "version_files"
CREATE UNIQUE INDEX `versionfile_organization_id_version_id_path` ON `version_files` (`organization_id`, `version_id`, `path`);
-- Create index "versionfile_sha256" to table: "version_files"
CREATE INDEX `versionfile_sha256` ON `version_files` (`sha256`);
