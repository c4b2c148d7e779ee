import type { TestbedAccess } from '../../testbed/installation.ts';
import type { GateTraffic } from './gates.ts';
import { attachmentName } from '../../../kubernetes/attachments.ts';
import { turn } from '../../testbed/knobs.ts';

/**
 * A CSI driver that fails so that a fence needs every step: it detaches nothing until Cloudfence has, and attaches
 * nothing until its attacher is also nudged for the new node, or for a while.
 */
export interface StubbornDriver {
  /** Receives what Cloudfence did. */
  readonly heed: (seen: GateTraffic) => Promise<void>;
  /** From now on, it does what it is asked to do. */
  readonly mend: () => Promise<void>;
  /** It no longer changes its behavior. */
  readonly close: () => void;
}

const UNNUDGED_MS = 8_000;

const failure = 'the driver is out of order';

const succeeded = ({ status }: GateTraffic): boolean => status !== null && status < 300;

/** `home` is the node to which the disk is attached. */
export const makeStubborn = async (testbed: TestbedAccess, disk: string, home: string): Promise<StubbornDriver> => {
  await turn(testbed, disk, { failDetach: failure, failAttach: failure });
  const old = attachmentName({ driver: 'ebs.csi.aws.com', handle: disk }, home);
  const mend = (): Promise<void> => turn(testbed, disk, {});
  let mending: NodeJS.Timeout | undefined;
  return {
    mend,
    close: () => clearTimeout(mending),
    heed: async (seen) => {
      if (!succeeded(seen)) return;
      if (seen.change === 'detach-disk') {
        await turn(testbed, disk, { failAttach: failure });
        clearTimeout(mending);
        mending = setTimeout(() => void mend(), UNNUDGED_MS);
      }
      if (seen.change === 'nudge' && !seen.passing.path.includes(old)) await mend();
    },
  };
};
