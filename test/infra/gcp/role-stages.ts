import type { Store } from './store.ts';

const DAY = 24 * 3_600_000;

/** For seven days, a deleted role can be restored. For thirty more, it is gone but its ID is not free. */
type RoleState = 'alive' | 'deleted' | 'purged' | 'free';

export const stageOf = (store: Store, name: string): RoleState => {
  const since = store.deletedRoles.get(name);
  if (since === undefined) return store.objects.has(name) ? 'alive' : 'free';
  const days = (store.now - since) / DAY;
  if (days < 7) return 'deleted';
  return days < 37 ? 'purged' : 'free';
};

/** What a policy may name: a custom role of this project must not be deleted. */
export const isBindable = (store: Store, role: string): boolean =>
  !role.startsWith('projects/') || stageOf(store, role) === 'alive';
