/** What is built, and how. Without the version flags, the servers would report v0.0.0. */

const KUBERNETES = { gitVersion: 'v1.36.3', gitMajor: '1', gitMinor: '36' } as const;

const versioned = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].flatMap((where) =>
  Object.entries(KUBERNETES).map(([name, value]) => `-X ${where}.${name}=${value}`),
);

export const goEnvironment = { CGO_ENABLED: '0', GOWORK: 'off', GOTOOLCHAIN: 'local' } as const;
export const buildFlags: readonly string[] = [
  '-mod=readonly',
  '-trimpath',
  '-ldflags',
  ['-s', '-w', ...versioned].join(' '),
];

/** Binaries by their packages. */
export const targets: Readonly<Record<string, string>> = {
  controlplane: './cmd/controlplane',
  'ebs-shim': './cmd/ebs-shim',
  'csi-attacher': 'github.com/kubernetes-csi/external-attacher/v4/cmd/csi-attacher',
};

/** Names under which the control plane's one binary is run. */
export const components = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
export type Component = (typeof components)[number] | 'ebs-shim' | 'ebs-csi-driver' | 'csi-attacher';
