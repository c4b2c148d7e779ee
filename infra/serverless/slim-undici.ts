import type { Plugin } from 'esbuild';

/** What the Kubernetes client and we use of undici; its index would bring mocks, caches and websockets along. */
const USED = `
export { fetch } from 'undici/lib/web/fetch/index.js';
export { default as Agent } from 'undici/lib/dispatcher/agent.js';
export { default as ProxyAgent } from 'undici/lib/dispatcher/proxy-agent.js';
`;

export const slimUndici: Plugin = {
  name: 'slim-undici',
  setup: (build) => {
    build.onResolve({ filter: /^undici$/ }, ({ resolveDir }) => ({ path: 'used', namespace: 'undici', pluginData: resolveDir }));
    build.onLoad({ filter: /^used$/, namespace: 'undici' }, ({ pluginData }: { pluginData: string }) => ({ contents: USED, loader: 'js', resolveDir: pluginData }));
    // The parser for processors without SIMD: both architectures of Lambda have it.
    build.onResolve({ filter: /^\.\.\/llhttp\/llhttp-wasm\.js$/ }, ({ resolveDir }) => build.resolve('../llhttp/llhttp_simd-wasm.js', { resolveDir, kind: 'require-call' }));
  },
};
