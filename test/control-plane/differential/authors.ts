/** The writer of a change, with the same name in both clusters. */

const ACCOUNT = 'system:serviceaccount:kube-system:';

/** Users of the real API server, then those of the sandbox. */
const authors: readonly (readonly [RegExp, string])[] = [
  [/^system:node:/, 'kubelet'],
  [new RegExp(`^${ACCOUNT}ebs-csi-controller-sa$|^external-attacher/`), 'external-attacher'],
  [new RegExp(`^${ACCOUNT}cloudfence$|^kubernetes-admin$`), 'cloudfence'],
  [/^admin$|^person$/, 'somebody'],
  [/^system:kube-scheduler$|^kube-scheduler$/, 'kube-scheduler'],
  [new RegExp(`^(?:${ACCOUNT})?attachdetach-controller$`), 'attach-detach'],
];

export const authorNamed = (user: string): string =>
  authors.find(([pattern]) => pattern.test(user))?.[1] ??
  (user.startsWith(ACCOUNT) ? user.slice(ACCOUNT.length) : user);
