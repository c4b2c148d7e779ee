import { bundleCli } from './bundle.ts';

await bundleCli();
