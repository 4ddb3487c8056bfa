import type { ServerOptions } from 'node:http';
import type { Express } from 'express';

// As in the server: an import of node:http would load an HTTP client.
const { IncomingMessage, ServerResponse } = process.getBuiltinModule('node:http');

/**
 * Creates the classes of the requests and responses of an Express application. Express changes the prototypes of both for each request, which
 * takes longer than all of its routing. Instances of these classes have the right prototypes from the beginning.
 */
export function createMessageClasses(app: Express): Pick<ServerOptions, 'IncomingMessage' | 'ServerResponse'> {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  app.request = AppRequest.prototype as Express['request'];
  app.response = AppResponse.prototype as Express['response'];
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse as typeof ServerResponse };
}
