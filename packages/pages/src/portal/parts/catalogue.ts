import type { CatalogueEvent } from '../responses.ts';
import { type Answer, send } from '../session.ts';
import { type Load, useData } from './requests.ts';

let catalogue: Promise<Answer<CatalogueEvent[]>> | undefined;

/** Reads the events once for all views. */
function readCatalogue(): Promise<Answer<CatalogueEvent[]>> {
  catalogue ??= send<CatalogueEvent[]>('/events').catch((error) => {
    catalogue = undefined;
    throw error;
  });
  return catalogue;
}

/** The events that can be chosen. */
export const useCatalogue = (): Load<CatalogueEvent[]> => useData('/events', readCatalogue);
