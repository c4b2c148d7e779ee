/**
 * The part of the `serverless` command (osls 4) that these plugins use.
 * https://github.com/oss-serverless/osls has the rest.
 */

export interface FunctionConfig {
  handler: string;
  readonly name: string;
  package?: { readonly patterns?: readonly string[]; readonly artifact?: string };
}

export interface TemplateResource {
  readonly Type: string;
  readonly Properties?: unknown;
  readonly DependsOn?: string | readonly string[];
  readonly Metadata?: unknown;
}

/** A CloudFormation template. */
export interface Template {
  Resources: Readonly<Record<string, TemplateResource>>;
}

interface Service {
  readonly service: string;
  readonly provider: { compiledCloudFormationTemplate: Template; readonly name: string; readonly stage?: string };
  package: Readonly<Record<string, unknown>>;
  readonly getAllFunctions: () => readonly string[];
  readonly getFunction: (name: string) => FunctionConfig;
}

interface Provider {
  readonly getStage: () => string;
  /** Configuration for clients of the AWS SDK: the region and the credentials of this command. */
  readonly getAwsSdkV3Config: () => Promise<object>;
}

export interface Serverless {
  readonly serviceDir: string;
  readonly service: Service;
  readonly processedInput: { readonly commands: readonly string[]; readonly options: Options };
  readonly getProvider: (name: 'aws') => Provider;
  /** Adds a provider for a cloud that `serverless` does not support. */
  readonly setProvider: (name: string, provider: object) => void;
  readonly configSchemaHandler: { readonly defineProvider: (name: string, schema: object) => void };
  readonly classes: { readonly Error: new (message: string) => Error };
}

export interface Options {
  readonly stage?: string;
  readonly region?: string;
  readonly function?: string;
  readonly param?: readonly string[];
  readonly 'force-remove'?: boolean;
  readonly preview?: boolean;
  /** The folder to which a package is written. */
  readonly package?: string;
  /** The payload of an invocation, and the file that contains it. */
  readonly data?: string;
  readonly path?: string;
}

export interface Writers {
  readonly log: { readonly notice: (text: string) => void; readonly warning: (text: string) => void };
  /** Writes the result of a command to standard output. */
  readonly writeText?: (text: string) => void;
}

export type Hooks = Readonly<Record<string, () => void | Promise<void>>>;
