import { loadConfig } from '@smithy/core/config';
import { translated } from './errors.ts';

/**
 * The region of the profile that AWS_PROFILE names, or of the default one, from the files of the AWS CLI; null where it has none.
 * https://docs.aws.amazon.com/sdkref/latest/guide/feature-region.html
 *
 * @throws Denied when the profile or the files cannot be read
 */
export const regionOfProfile = (): Promise<string | null> =>
  translated('the AWS profile', loadConfig<string | null>({ environmentVariableSelector: () => undefined, configFileSelector: ({ region }) => region, default: null }, { preferredFile: 'credentials' }));
