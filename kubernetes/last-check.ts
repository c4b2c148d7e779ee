import type { Dispatcher } from 'undici';

/** A handler whose request is checked once more when its connection stands and the first byte is about to be written. */
const checked = (handler: Dispatcher.DispatchHandler, check: () => void): Dispatcher.DispatchHandler => ({
  onRequestStart: (controller, context) => {
    check();
    handler.onRequestStart?.(controller, context);
  },
  onResponseStart: (...answer) => handler.onResponseStart?.(...answer),
  onResponseData: (...answer) => handler.onResponseData?.(...answer),
  onResponseEnd: (...answer) => handler.onResponseEnd?.(...answer),
  onResponseError: (...answer) => handler.onResponseError?.(...answer),
  onResponseStarted: () => handler.onResponseStarted?.(),
  onBodySent: (...sent) => handler.onBodySent?.(...sent),
  onRequestSent: () => handler.onRequestSent?.(),
});

/**
 * Between handing a request over and its leaving may lie a wait for a free connection, a TLS handshake, or a frozen
 * process. So the check is repeated by the dispatcher itself, which can still hold the request back.
 *
 * `reset: false`: undici closes the connection after a DELETE with a body, and each of ours has one, for its preconditions.
 */
export const withLastCheck = (dispatcher: Dispatcher, check: () => void): Dispatcher =>
  dispatcher.compose((dispatch) => (options, handler) => dispatch({ ...options, reset: false }, checked(handler, check)));
