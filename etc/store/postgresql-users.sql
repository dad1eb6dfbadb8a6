-- Access to syscheck's store in PostgreSQL: members of syscheck_admin read everything, members
-- of syscheck_user what is about their own jobs, of syscheck_grafana the views, in which no user
-- and no job's name stands; the server enforces it. Slurm's user names must be its roles (peer or
-- LDAP login). As the owner of the tables, after the first `syscheck ingest` and after an update of
-- syscheck that changes the tables (docs/store.md):
--   psql -d syscheck -f postgresql-users.sql

DO $$ BEGIN
   IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'syscheck_admin') THEN CREATE ROLE syscheck_admin NOLOGIN; END IF;
   IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'syscheck_user') THEN CREATE ROLE syscheck_user NOLOGIN; END IF;
   IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'syscheck_grafana') THEN CREATE ROLE syscheck_grafana NOLOGIN; END IF;
END $$;

-- The login's own name as a word; SET ROLE does not change it.
CREATE OR REPLACE FUNCTION syscheck_me() RETURNS integer LANGUAGE sql STABLE SECURITY DEFINER
   SET search_path = pg_catalog, pg_temp
   AS $$ SELECT id FROM public.word WHERE text = session_user::text $$;
REVOKE ALL ON FUNCTION syscheck_me() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION syscheck_me() TO syscheck_user, syscheck_admin;

REVOKE ALL ON meta, word, node, run, job_node, check_node, noise_node, fabric_node, config, loss, file FROM PUBLIC;
GRANT SELECT ON meta, word, node, run, job_node, check_node, fabric_node, config, loss TO syscheck_user, syscheck_admin;
GRANT SELECT ON file TO syscheck_admin;
REVOKE ALL ON syscheck_node, syscheck_check, syscheck_job, syscheck_run FROM PUBLIC;
GRANT SELECT ON syscheck_node, syscheck_check, syscheck_job, syscheck_run TO syscheck_grafana, syscheck_admin;

ALTER TABLE run ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_node ENABLE ROW LEVEL SECURITY;
ALTER TABLE check_node ENABLE ROW LEVEL SECURITY;
ALTER TABLE word ENABLE ROW LEVEL SECURITY;

DROP POLICY IF EXISTS syscheck_admin ON run;
DROP POLICY IF EXISTS syscheck_admin ON job_node;
DROP POLICY IF EXISTS syscheck_admin ON check_node;
DROP POLICY IF EXISTS syscheck_admin ON word;
CREATE POLICY syscheck_admin ON run FOR SELECT TO syscheck_admin USING (true);
CREATE POLICY syscheck_admin ON job_node FOR SELECT TO syscheck_admin USING (true);
CREATE POLICY syscheck_admin ON check_node FOR SELECT TO syscheck_admin USING (true);
CREATE POLICY syscheck_admin ON word FOR SELECT TO syscheck_admin USING (true);

-- A user's rows: his runs, what their nodes recorded, and words about nobody else.
DROP POLICY IF EXISTS syscheck_user ON run;
DROP POLICY IF EXISTS syscheck_user ON job_node;
DROP POLICY IF EXISTS syscheck_user ON check_node;
DROP POLICY IF EXISTS syscheck_user ON word;
CREATE POLICY syscheck_user ON run FOR SELECT TO syscheck_user USING ("user" = (SELECT syscheck_me()));
CREATE POLICY syscheck_user ON job_node FOR SELECT TO syscheck_user
   USING (EXISTS (SELECT 1 FROM run WHERE run.id = job_node.run));
CREATE POLICY syscheck_user ON check_node FOR SELECT TO syscheck_user
   USING (EXISTS (SELECT 1 FROM run WHERE run.id = check_node.run));
CREATE POLICY syscheck_user ON word FOR SELECT TO syscheck_user
   USING (private = 0 OR EXISTS (SELECT 1 FROM run WHERE word.id IN (run."user", run.name, run.account)));
