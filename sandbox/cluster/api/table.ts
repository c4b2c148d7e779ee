import type { KubeObject, NodeObject, PodObject, Resource, Resources } from '../objects.ts';
import { metadataOnly } from './partial.ts';
import type { ApiRequest } from './wire.ts';

/**
 * The rows that `kubectl get` prints, which the API server creates:
 * https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */
export const wantsTable = (request: ApiRequest): boolean =>
  /;\s*as=Table\b/.test((request.headers['accept'] ?? '').split(',')[0] ?? '');

type Cell = string | number;
type Column<R extends Resource> = readonly [name: string, cell: (object: Resources[R], now: number) => Cell];

interface Columns<R extends Resource> {
  readonly shown: readonly Column<R>[];
  /** Shown only with `-o wide`. */
  readonly wide?: readonly Column<R>[];
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const ageOf = ({ metadata }: Pick<KubeObject, 'metadata'>, now: number): string => {
  const seconds = Math.max(0, Math.floor((now - Date.parse(metadata.creationTimestamp)) / 1_000));
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`;
  return seconds < 2 * DAY ? `${Math.floor(seconds / HOUR)}h` : `${Math.floor(seconds / DAY)}d`;
};

const nodeStatus = ({ status, spec }: NodeObject): string => {
  const isReady = status.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True');
  return [isReady ? 'Ready' : 'NotReady', ...(spec.unschedulable ? ['SchedulingDisabled'] : [])].join(',');
};

const podStatus = ({ metadata, spec, status }: PodObject): string => {
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  const isCreated = (status.containerStatuses ?? []).some(({ state }) => state?.waiting);
  if (isCreated || (status.phase === 'Pending' && spec.nodeName !== undefined)) return 'ContainerCreating';
  return status.phase === 'Succeeded' ? 'Completed' : (status.phase ?? 'Unknown');
};

const readyOf = ({ spec, status }: PodObject): string =>
  `${(status.containerStatuses ?? []).filter(({ ready }) => ready).length}/${spec.containers.length}`;

const orNone = (text: string | undefined): string => text ?? '<none>';

const ACCESS_MODES: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};
const modesOf = (modes: readonly string[] | undefined): string =>
  (modes ?? []).map((mode) => ACCESS_MODES[mode] ?? mode).join(',');

const tables: { readonly [R in Resource]?: Columns<R> } = {
  nodes: {
    shown: [
      ['Status', nodeStatus],
      ['Roles', () => '<none>'],
      ['Age', ageOf],
      ['Version', ({ status }) => status.nodeInfo?.kubeletVersion ?? ''],
    ],
  },
  pods: {
    shown: [
      ['Ready', readyOf],
      ['Status', podStatus],
      ['Restarts', () => 0],
      ['Age', ageOf],
    ],
    wide: [['Node', ({ spec }) => orNone(spec.nodeName)]],
  },
  persistentvolumeclaims: {
    shown: [
      ['Status', ({ status }) => status?.phase ?? 'Pending'],
      ['Volume', ({ spec }) => spec.volumeName ?? ''],
      ['Access Modes', ({ spec }) => modesOf(spec.accessModes)],
      ['StorageClass', ({ spec }) => spec.storageClassName ?? ''],
      ['Age', ageOf],
    ],
  },
  persistentvolumes: {
    shown: [
      ['Access Modes', ({ spec }) => modesOf(spec.accessModes)],
      ['Status', ({ status }) => status?.phase ?? ''],
      ['Claim', ({ spec }) => (spec.claimRef ? `${spec.claimRef.namespace}/${spec.claimRef.name}` : '')],
      ['Age', ageOf],
    ],
  },
  volumeattachments: {
    shown: [
      ['Attacher', ({ spec }) => spec.attacher],
      ['PV', ({ spec }) => spec.source.persistentVolumeName ?? ''],
      ['Node', ({ spec }) => spec.nodeName],
      ['Attached', ({ status }) => String(status.attached)],
      ['Age', ageOf],
    ],
  },
  events: {
    shown: [
      ['Last Seen', ageOf],
      ['Type', ({ type }) => type ?? ''],
      ['Reason', ({ reason }) => reason ?? ''],
      ['Object', ({ regarding }) => `${regarding?.kind.toLowerCase() ?? ''}/${regarding?.name ?? ''}`],
      ['Message', ({ note }) => note ?? ''],
    ],
  },
};

const nameColumn = { name: 'Name', type: 'string', format: 'name', description: '', priority: 0 };
const definitionOf =
  (priority: number) =>
  ([name]: readonly [string, unknown]): object => ({ name, type: 'string', format: '', description: '', priority });

/** Returns the table, or undefined if kubectl shows only the names and ages of this kind. */
export const tableOf = <R extends Resource>(
  resource: R,
  items: readonly Resources[R][],
  metadata: object,
  now: number,
): object | undefined => {
  const { shown, wide = [] } = tables[resource] ?? {};
  if (!shown) return undefined;
  const rowOf = (item: Resources[R]): object => ({
    cells: [item.metadata.name, ...[...shown, ...wide].map(([, cell]) => cell(item, now))],
    object: metadataOnly(item),
  });
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: [nameColumn, ...shown.map(definitionOf(0)), ...wide.map(definitionOf(1))],
    rows: items.map(rowOf),
  };
};
