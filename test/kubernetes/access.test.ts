import { describe, expect, it } from 'vitest';
import { InvalidConfiguration } from '../../fencing/model/errors.ts';
import { linkFromKubeConfig } from '../../kubernetes/access.ts';

const content = `
current-context: blue
clusters:
- {name: blue, cluster: {server: 'https://blue.example'}}
- {name: green, cluster: {server: 'https://green.example'}}
users:
- {name: me, user: {token: secret}}
contexts:
- {name: blue, context: {cluster: blue, user: me}}
- {name: green, context: {cluster: green, user: me}}
- {name: torn, context: {cluster: red, user: nobody}}
`;

describe('a kubeconfig', () => {
  it.each([
    [null, 'https://blue.example'],
    ['green', 'https://green.example'],
  ])('leads in context %s to %s', (context, server) => {
    expect(linkFromKubeConfig(content, context).server).toBe(server);
  });

  it('is rejected with the name of an entry that is missing', () => {
    expect(() => linkFromKubeConfig(content, 'torn')).toThrow(/no cluster named red[^]*no user named nobody/);
    expect(() => linkFromKubeConfig(content, 'violet')).toThrow('no context named violet: use one of');
  });

  it.each(['', '{', '- a\n- b', '{"clusters":[{"name":1}]}'])('is rejected if it is not one: %j', (text) => {
    expect(() => linkFromKubeConfig(text, null)).toThrow(InvalidConfiguration);
  });
});
