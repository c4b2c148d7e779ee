import type { WaitEnd } from '../model/cause.ts';
import type { ObjectName } from '../model/facts.ts';

/** What a person does about a provisioner that refuses to make a volume, by its words. */

interface Remedy {
  readonly ending: WaitEnd;
  readonly next: readonly string[];
}

interface RefusalText {
  readonly sign: RegExp;
  /** Gets the claim, and what the sign captured. */
  readonly remedy: (claim: ObjectName, captured: string) => Remedy;
}

const byPerson = (...next: readonly string[]): Remedy => ({ ending: 'by-person', next });

/** The words of external-provisioner and of the API server, and one code of EC2. The first sign counts. */
const texts: readonly RefusalText[] = [
  {
    sign: /snapshot \S+ is not ready/i,
    remedy: ({ namespace }) => ({
      ending: 'by-itself',
      next: [
        `kubectl -n ${namespace} get volumesnapshot      # the volume follows once the snapshot is ready to use`,
        'if it never is: the status of its VolumeSnapshotContent has the error',
      ],
    }),
  },
  {
    sign: /storageclass\.storage\.k8s\.io "([^"]+)" not found/,
    remedy: (_, name) =>
      byPerson(
        `kubectl get storageclass      # make the class ${name}`,
        'or make the claim again with a class that exists: the class of a claim cannot change',
      ),
  },
  {
    sign: /CSINode for selected node "([^"]+)".*not found/,
    remedy: ({ namespace, name }, node) =>
      byPerson(
        `kubectl -n ${namespace} annotate pvc ${name} volume.kubernetes.io/selected-node-      # ${node} is ` +
          'gone: the scheduler then chooses another Node',
      ),
  },
  {
    sign: /no topology key found on CSINode (\S+)/,
    remedy: (_, node) =>
      byPerson(
        `kubectl get csinode ${node} -o yaml      # the driver is not registered there: look at its node ` +
          `plugin on ${node}`,
      ),
  },
  {
    sign: /InvalidVolume\.NotFound/,
    remedy: () =>
      byPerson(
        "let the role of the driver's controller use the KMS key (kms:CreateGrant, kms:Decrypt, " +
          'kms:GenerateDataKeyWithoutPlaintext): EC2 takes back a volume whose key it may not use',
      ),
  },
];

/** Returns what to do, and how the wait ends. */
export const remedyOfRefusal = (says: string, claim: ObjectName): Remedy => {
  const known = texts.find(({ sign }) => sign.test(says));
  return known
    ? known.remedy(claim, known.sign.exec(says)?.[1] ?? '')
    : byPerson('fix what the error names: a permission, a quota, a key, or the zone');
};
