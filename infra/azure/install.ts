import type { CheckedInstall } from './check.ts';
import { names, type AppName, type Names } from './names.ts';

/** What is deployed, before anything is. */
export interface Install extends CheckedInstall {
  readonly prefix: string;
  readonly names: Names;
  /** The package that each app runs, by its hash; null before the first. Kept as a tag. */
  readonly published: Readonly<Record<AppName, string | null>>;
}

export const noPackages: Install['published'] = { app: null, door: null };

export const installOf = (prefix: string, checked: CheckedInstall): Install => ({
  ...checked,
  prefix,
  names: names({ subscription: checked.parameters.subscription, prefix }),
  published: noPackages,
});

/** By this tag we know what is ours. */
export const OURS = 'cloudfence';
export const PACKAGE = 'cloudfence-package';

export const tagsOf = ({ prefix }: Pick<Install, 'prefix'>): Readonly<Record<string, string>> => ({ [OURS]: prefix });
