/**
 * The event that Event Grid delivers about an operation that was requested from ARM, in Event Grid's schema.
 * https://learn.microsoft.com/azure/event-grid/event-schema-subscriptions
 */
export interface OperationEvent {
  readonly id: string;
  readonly topic: string;
  readonly subject: string;
  readonly eventType: 'Microsoft.Resources.ResourceActionSuccess' | 'Microsoft.Resources.ResourceDeleteSuccess';
  readonly eventTime: string;
  readonly data: {
    readonly operationName: string;
    readonly resourceProvider: 'Microsoft.Compute';
    readonly resourceUri: string;
    readonly status: 'Succeeded';
    readonly subscriptionId: string;
  };
  readonly dataVersion: '2';
  readonly metadataVersion: '1';
}
