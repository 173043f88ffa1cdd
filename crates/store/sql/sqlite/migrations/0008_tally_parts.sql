-- On PostgreSQL a part of the tallies stands apart for some seconds; here nothing does.
create view tally_parts as
select dispatch_group, queue, action, host, state, leaf, throttled, n from tallies where 0;
