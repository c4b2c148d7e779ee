import type { Plugin } from 'esbuild';

const NONE = `
const absent = () => { throw new Error('the bundle is without undici: kubernetes/exchange.ts sends the requests'); };
export { absent as fetch, absent as Agent, absent as ProxyAgent };
`;

/** The Kubernetes client names undici for a way of its own, which we do not take: half a megabyte of code, loaded for nothing. */
export const withoutUndici: Plugin = {
  name: 'without-undici',
  setup: (build) => {
    build.onResolve({ filter: /^undici$/ }, () => ({ path: 'none', namespace: 'undici' }));
    build.onLoad({ filter: /^none$/, namespace: 'undici' }, () => ({ contents: NONE, loader: 'js' }));
  },
};
