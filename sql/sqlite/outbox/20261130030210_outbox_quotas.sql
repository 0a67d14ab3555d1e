-- Which tenants hold the whole of what one tenant may have in flight (ruling R35): see the query quotas. Workers of an earlier version do not say it.
ALTER TABLE {{p}}outbox_worker ADD COLUMN tenant_quota INTEGER; -- most lanes of one tenant in flight for one destination; NULL: it did not say
