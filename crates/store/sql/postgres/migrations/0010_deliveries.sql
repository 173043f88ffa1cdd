-- What came of handing a step to its target. An attempt that delivered nothing has none of these.
alter table step_attempts add column delivery_status text
    check (delivery_status in ('SUCCESS', 'FAILURE', 'DEFERRED'));
alter table step_attempts add column http_code bigint;
alter table step_attempts add column error_type text
    check (error_type in ('CONNECTION', 'TIMEOUT', 'HTTP_ERROR', 'VALIDATION', 'UNKNOWN'));
alter table step_attempts add column response_body text;
alter table step_attempts add column duration_ms bigint;
