/** What is built, and how. Without the version flags, the servers would report v0.0.0. */

export const goEnvironment = { CGO_ENABLED: '0', GOWORK: 'off', GOTOOLCHAIN: 'local' } as const;

/**
 * The versions of Kubernetes that the testbed can run. The first one is the default. An older one has its own modules
 * (`go/kubernetes-<version>.mod`), with the etcd that it is built with.
 */
export const kubernetesVersions = {
  '1.36': 'v1.36.3',
  '1.33': 'v1.33.13',
  '1.30': 'v1.30.14',
} as const;
export type KubernetesVersion = keyof typeof kubernetesVersions;

export const USUAL: KubernetesVersion = '1.36';

/** Returns the name of the version's modules, without `.mod` or `.sum`. */
export const modulesOf = (version: KubernetesVersion): string => (version === USUAL ? 'go' : `kubernetes-${version}`);

const versionFlags = (version: KubernetesVersion): readonly string[] => {
  const [gitMajor = '', gitMinor = ''] = version.split('.');
  return ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((where) =>
    Object.entries({ gitVersion: kubernetesVersions[version], gitMajor, gitMinor }).map(
      ([name, value]) => `-X ${where}.${name}=${value}`,
    ),
  );
};

export const buildFlags = (version: KubernetesVersion): readonly string[] => [
  ...(version === USUAL ? [] : [`-modfile=${modulesOf(version)}.mod`]),
  '-mod=readonly',
  '-trimpath',
  '-ldflags',
  ['-s', '-w', ...versionFlags(version)].join(' '),
];

const CONTROL_PLANE = 'controlplane';

/** Binaries by their packages. */
export const targets: Readonly<Record<string, string>> = {
  [CONTROL_PLANE]: './cmd/controlplane',
  'ebs-shim': './cmd/ebs-shim',
  'csi-attacher': 'github.com/kubernetes-csi/external-attacher/v4/cmd/csi-attacher',
};

/** Returns the version from whose modules a binary is built. Drivers are the same for every control plane. */
export const modulesFor = (target: string, version: KubernetesVersion): KubernetesVersion =>
  target === CONTROL_PLANE ? version : USUAL;

/** The names under which the one binary of the control plane is started. */
export const components = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
export type Component = (typeof components)[number] | 'ebs-shim' | 'ebs-csi-driver' | 'csi-attacher';
