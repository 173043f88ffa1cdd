-- The queue outside to which the messages of a dispatch group go: what lies in another one when that is changed is published again.
alter table dispatch_groups add column published_to text;
