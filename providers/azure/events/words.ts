import { z } from 'zod';

/** `powerOff` is `power-off`, `VirtualMachineHostCrashed` is `virtual-machine-host-crashed`. */
export const kebab = (name: string): string =>
  name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1-$2')
    .replaceAll(/[^A-Za-z\d]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .toLowerCase();

/** Epoch ms, or null for a placeholder or nothing at all. */
export const momentIn = (time: string | null | undefined): number | null => {
  const moment = Date.parse(time ?? '');
  return Number.isNaN(moment) ? null : moment;
};

/** A word of the activity log: alone, or with its translation beside it. */
export const said = z.union([z.string(), z.object({ value: z.string() }).transform(({ value }) => value)]);
