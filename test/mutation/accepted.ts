/** A mutant that no test can kill, because it changes nothing that anybody could see. */
export interface Accepted {
  readonly file: string;
  /** The line on which the mutated code begins. */
  readonly line: string;
  readonly from: string;
  readonly to: string;
  readonly because: string;
}

const FIRST = 'Nobody reads the first element, which is the whole match.';

const NAMED = 'The API server gives each object a name.';

const unreached = (line: string, change: string): Accepted => {
  const [from = '', to = ''] = change.split('  ');
  return {
    file: 'fencing/loop/next-command.ts',
    line,
    from,
    to,
    because: 'The compiler wants the case of a run without facts, and no decision is made without them.',
  };
};

export const accepted: readonly Accepted[] = [
  {
    file: 'fencing/rules/guards.ts',
    line: 'if (decision) return decision;',
    from: 'decision',
    to: 'true',
    because: 'The list of guards has one element, and the loop returns its answer, null or not.',
  },
  ...['{ machine: true }  {}', 'true  false'].map((change) =>
    unreached('if (!location) return lookAt({ machine: true });', change),
  ),
  unreached(
    'if (!location || !machine || !cluster) return lookAt({ machine: !machine, cluster: !cluster });',
    '{ machine: !machine, cluster: !cluster }  {}',
  ),
  {
    file: 'fencing/loop/survey.ts',
    line: "const { nodesNamingMachine: naming } = await asked(cluster, '', machine, ports);",
    from: "''",
    to: '"Stryker was here!"',
    because:
      'It stands for no Node of that cluster, and only the Nodes that name the machine are read from the answer.',
  },
  {
    file: 'fencing/loop/look.ts',
    line: "return { cluster: name, nodes: [guessed.value.nodeName ?? ''], marked: [], facts: guessed, error: null };",
    from: "''",
    to: '"Stryker was here!"',
    because: 'A look that found the Node has its name.',
  },
  {
    file: 'kubernetes/fence-patch.ts',
    line: "case 'park':",
    from: "case 'park': return text === serializeRecord(step.record);",
    to: "case 'park':",
    because: 'The next case compares a record in the same way, and a step that parks always has one.',
  },
  {
    file: 'kubernetes/fence-patch.ts',
    line: "test('/metadata/resourceVersion', metadata?.resourceVersion ?? '');",
    from: "''",
    to: '"Stryker was here!"',
    because: 'The API server gives each Node a resourceVersion, and it has neither of these texts.',
  },
  {
    file: 'fencing/loop/apply-step.ts',
    line: "case 'stays':",
    from: "case 'stays': return record;",
    to: "case 'stays':",
    because: 'A step that leaves the record as it is has no record of its own, so the next case returns the same.',
  },
  {
    file: 'fencing/loop/ending.ts',
    line: "outcome: 'waiting',",
    from: "'waiting'",
    to: '""',
    because: 'The outcome is only compared with a failure.',
  },
  {
    file: 'kubernetes/leases.ts',
    line: "for (const lease of page) leases[kindOf(renewTimeOf(lease), freshness)].add(lease.metadata?.name ?? '');",
    from: "''",
    to: '"Stryker was here!"',
    because: NAMED,
  },
  {
    file: 'kubernetes/leases.ts',
    line: "for (const node of page) nodes.set(node.metadata?.name ?? '', surveyedNode(node, machine));",
    from: "''",
    to: '"Stryker was here!"',
    because: NAMED,
  },
  {
    file: 'kubernetes/leases.ts',
    line: "const time = Date.parse(renewed ?? '');",
    from: "''",
    to: '"Stryker was here!"',
    because: 'Neither text is a time.',
  },
  {
    file: 'kubernetes/leases.ts',
    line: "zone: node.metadata?.labels?.[ZONE_LABEL] ?? '',",
    from: "''",
    to: '"Stryker was here!"',
    because: 'It stands for the zone of all Nodes without the label, and is only compared with itself.',
  },
  {
    file: 'kubernetes/pods.ts',
    line: 'export const toleratesOutOfService = ({ spec }: V1Pod): boolean => (spec?.tolerations ?? []).some(isForOutOfService);',
    from: '[]',
    to: '["Stryker was here"]',
    because: 'A text has neither a key nor an operator, so it tolerates nothing.',
  },
  {
    file: 'transport/hold.ts',
    line: 'request.destroy(why);',
    from: 'request.destroy(why);',
    to: ';',
    because:
      'The request destroys itself one turn later, with the same error, because it hears that no connection comes.',
  },
  {
    file: 'kubernetes/node.ts',
    line: "export const optOutsOfNode = ({ name = '', labels, annotations }: V1ObjectMeta = {}): readonly OptOut[] => [",
    from: "''",
    to: '"Stryker was here!"',
    because: NAMED,
  },
  {
    file: 'kubernetes/node.ts',
    line: "export const optOutOfPod = ({ name = '', namespace = '', annotations }: V1ObjectMeta = {}): OptOut | null =>",
    from: "''",
    to: '"Stryker was here!"',
    because: NAMED,
  },
  {
    file: 'kubernetes/node.ts',
    line: "const nameOf = ({ metadata }: V1Node): string => metadata?.name ?? '';",
    from: "''",
    to: '"Stryker was here!"',
    because: NAMED,
  },
  {
    file: 'kubernetes/node.ts',
    line: 'for (const names of [likeliest === undefined ? [] : [likeliest], others]) {',
    from: '[]',
    to: '["Stryker was here"]',
    because: 'Nobody asks for a name with spaces, and it finds nothing.',
  },
  {
    file: 'kubernetes/apply.ts',
    line: "lately.set(node.metadata?.name ?? '', { node, at });",
    from: "''",
    to: '"Stryker was here!"',
    because: NAMED,
  },
  {
    file: 'kubernetes/apply.ts',
    line: 'for (const [name, found] of lately) if (!isFresh(found.at)) lately.delete(name);',
    from: '!isFresh(found.at)',
    to: 'false',
    because: 'A Node that is no longer fresh is never taken. The line frees its memory.',
  },
  {
    file: 'kubernetes/attachments.ts',
    line: "const key = source ? `${source.driver} ${source.value}` : '';",
    from: "''",
    to: '"Stryker was here!"',
    because: 'No source has a driver and a value that make up either text.',
  },
  {
    file: 'kubernetes/attachments.ts',
    line: "same.names.push(attachment.metadata?.name ?? '');",
    from: "''",
    to: '"Stryker was here!"',
    because: NAMED,
  },
  {
    file: 'kubernetes/attachments.ts',
    line: '{ query, named = [] }: LookRequest,',
    from: '[]',
    to: '["Stryker was here"]',
    because: 'No Node has a name with spaces.',
  },
  {
    file: 'kubernetes/attachments.ts',
    line: "if (noted === null) return named.includes(attachment.spec.nodeName) ? 'unattributed' : 'nobody';",
    from: "'nobody'",
    to: '""',
    because: 'Nobody reads this group.',
  },
  {
    file: 'providers/azure/detach.ts',
    line: 'const [{ path } = { path: null }] = ready;',
    from: '{ path: null }',
    to: '{}',
    because: 'There is no path, either way.',
  },
  {
    file: 'providers/azure/detach.ts',
    line: "one.settle(new Refused(why ?? ''));",
    from: "''",
    to: '"Stryker was here!"',
    because: 'If another machine has the name, there is a reason.',
  },
  {
    file: 'transport/under-permit.ts',
    line: "request.once('close', () => held.delete(one));",
    from: "'close'",
    to: '""',
    because: 'Nothing more becomes of a request that is over. The line frees its memory.',
  },
  {
    file: 'transport/under-permit.ts',
    line: "request.once('close', () => held.delete(one));",
    from: '() => held.delete(one)',
    to: '() => undefined',
    because: 'Nothing more becomes of a request that is over. The line frees its memory.',
  },
  {
    file: 'transport/under-permit.ts',
    line: 'perhapsLeft = why === null;',
    from: 'why === null',
    to: 'true',
    because: 'Once there is a reason not to send, nothing asks whether the request has left.',
  },
  {
    file: 'providers/gcp/identity.ts',
    line: 'const [, project, zone, instance] = INSTANCE_PATH.exec(path) ?? [];',
    from: '[]',
    to: '["Stryker was here"]',
    because: FIRST,
  },
  {
    file: 'providers/gcp/identity.ts',
    line: 'const [, project, zone, disk] = ZONAL_DISK.exec(path) ?? [];',
    from: '[]',
    to: '["Stryker was here"]',
    because: FIRST,
  },
  {
    file: 'providers/gcp/identity.ts',
    line: 'const [, owner, region, replicated] = REGIONAL_DISK.exec(path) ?? [];',
    from: '[]',
    to: '["Stryker was here"]',
    because: FIRST,
  },
  {
    file: 'providers/gcp/identity.ts',
    line: 'const [, project, zone, instance] = PROVIDER_ID.exec(value) ?? [];',
    from: '[]',
    to: '["Stryker was here"]',
    because: FIRST,
  },
  {
    file: 'providers/azure/identity.ts',
    line: 'const [, subscription, group, name] = VM.exec(id) ?? [];',
    from: '[]',
    to: '["Stryker was here"]',
    because: FIRST,
  },
  {
    file: 'providers/azure/identity.ts',
    line: 'const [, owner, place, set, instance] = INSTANCE.exec(id) ?? [];',
    from: '[]',
    to: '["Stryker was here"]',
    because: FIRST,
  },
  {
    file: 'providers/azure/identity.ts',
    line: 'const [, subscription, group, name] = DISK.exec(id) ?? [];',
    from: '[]',
    to: '["Stryker was here"]',
    because: FIRST,
  },
  {
    file: 'providers/azure/identity.ts',
    line: 'const [, subscription, group, set] = SET.exec(id) ?? [];',
    from: '[]',
    to: '["Stryker was here"]',
    because: FIRST,
  },
  {
    file: 'providers/azure/identity.ts',
    line: 'const [, subscription, group, set, name] = INSTANCE.exec(text.toLowerCase()) ?? [];',
    from: '[]',
    to: '["Stryker was here"]',
    because: FIRST,
  },
  {
    file: 'providers/azure/identity.ts',
    line: 'const [, set, digits] = COMPUTER.exec(node) ?? [];',
    from: '[]',
    to: '["Stryker was here"]',
    because: FIRST,
  },
  {
    file: 'providers/gcp/identity.ts',
    line: 'const UNSPECIFIED = /^projects\\/UNSPECIFIED\\/(?=zones\\/|regions\\/)/;',
    from: '/^projects\\/UNSPECIFIED\\/(?=zones\\/|regions\\/)/',
    to: '/projects\\/UNSPECIFIED\\/(?=zones\\/|regions\\/)/',
    because: 'A path that begins with anything else is no disk, whatever replaces the rest.',
  },
  {
    file: 'providers/aws/identity.ts',
    line: "case 'systemUUID':",
    from: "case 'systemUUID': return null;",
    to: "case 'systemUUID':",
    because: 'No driver writes a systemUUID, so the next case returns null, too.',
  },
  {
    file: 'kubernetes/fence-patch.ts',
    line: "const record = parseRecord(fenceAnnotation(node) ?? '');",
    from: "''",
    to: '"Stryker was here!"',
    because: 'Neither text is a record.',
  },
  {
    file: 'transport/ahead.ts',
    line: "const hostIn = ({ hostname }: URL): string => hostname.replace(/^\\[(.*)\\]$/, '$1');",
    from: '/^\\[(.*)\\]$/',
    to: '/\\[(.*)\\]$/',
    because: 'A URL has brackets around the whole name of its host, or none.',
  },
  {
    file: 'transport/ahead.ts',
    line: "const hostIn = ({ hostname }: URL): string => hostname.replace(/^\\[(.*)\\]$/, '$1');",
    from: '/^\\[(.*)\\]$/',
    to: '/^\\[(.*)\\]/',
    because: 'A URL has brackets around the whole name of its host, or none.',
  },
  {
    file: 'kubernetes/suspects.ts',
    line: "const nameOf = ({ metadata }: V1Node): string => metadata?.name ?? '';",
    from: "''",
    to: '"Stryker was here!"',
    because: NAMED,
  },
  {
    file: 'kubernetes/suspects.ts',
    line: "record: parseRecord(fenceAnnotation(standing) ?? ''),",
    from: "''",
    to: '"Stryker was here!"',
    because: 'Neither text is a record.',
  },
  {
    file: 'kubernetes/volume-facts.ts',
    line: "attachment.metadata?.name ?? '',",
    from: "''",
    to: '"Stryker was here!"',
    because: NAMED,
  },
  {
    file: 'kubernetes/volume-facts.ts',
    line: ': [];',
    from: '[]',
    to: '["Stryker was here"]',
    because: 'No volume has this key.',
  },
];
