'use strict';

/** Stands for what the worker of the Functions host lends an app, and keeps what the app registers. */

const registered = [];
const handlers = {};

module.exports = {
  registered,
  handlers,
  setProgrammingModel: () => undefined,
  registerFunction: ({ name, bindings }, handler) => {
    registered.push({ name, bindings: Object.values(bindings) });
    handlers[name] = handler;
  },
  registerHook: () => undefined,
};
