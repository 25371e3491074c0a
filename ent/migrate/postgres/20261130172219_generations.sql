-- Modify "calls" table
ALTER TABLE "calls" ADD COLUMN "output_chunks" bigint NOT NULL DEFAULT 0;
-- Modify "runs" table
ALTER TABLE "runs" ADD COLUMN "scripting" boolean NOT NULL DEFAULT false;
-- Create "generations" table
CREATE TABLE "generations" (
  "id" character varying NOT NULL,
  "created_at" timestamptz NOT NULL,
  "status" character varying NOT NULL,
  "reason" character varying NOT NULL DEFAULT '',
  "number" bigint NOT NULL DEFAULT 0,
  "materialised" jsonb NOT NULL,
  "removed" jsonb NOT NULL,
  "ended_at" timestamptz NULL,
  "organization_id" character varying NOT NULL,
  "run_id" character varying NOT NULL,
  PRIMARY KEY ("id"),
  CONSTRAINT "generations_organizations_organization" FOREIGN KEY ("organization_id") REFERENCES "organizations" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION,
  CONSTRAINT "generations_runs_run" FOREIGN KEY ("run_id") REFERENCES "runs" ("id") ON UPDATE NO ACTION ON DELETE NO ACTION
);
-- Create index "generation_organization_id_id" to table: "generations"
CREATE INDEX "generation_organization_id_id" ON "generations" ("organization_id", "id");
-- Create index "generation_run_id_status" to table: "generations"
CREATE INDEX "generation_run_id_status" ON "generations" ("run_id", "status");
