/** host.json, with which the Functions host starts. https://learn.microsoft.com/azure/azure-functions/functions-host-json */
export const host = {
  version: '2.0',
  extensionBundle: { id: 'Microsoft.Azure.Functions.ExtensionBundle', version: '[4.*, 5.0.0)' },
  // Each invocation ends well before, by CLOUDFENCE_TIMEOUT_SECONDS.
  functionTimeout: '00:05:00',
  extensions: {
    serviceBus: { maxMessageBatchSize: 10, maxConcurrentCalls: 1, maxAutoLockRenewalDuration: '00:05:00' },
    http: { routePrefix: 'api' },
  },
  logging: {
    logLevel: { default: 'Warning', 'Host.Results': 'Information', Function: 'Information' },
    // Each line is a decision.
    applicationInsights: { samplingSettings: { isEnabled: false } },
  },
};
