import { createOrganisationViewer, isAccountActive } from '../declare/actor.ts';
import type { ExtensionHost, FeatureParts } from '../declare/extension.ts';
import type { Host } from '../declare/host.ts';
import { mergeParts } from '../declare/merge-parts.ts';
import type { JobRuntime } from '../jobs/index.ts';
import type { ConfigErrors } from '../platform/helpers/config-errors.ts';
import { StartupError } from '../platform/helpers/config-errors.ts';
import type { MailComposer } from '../platform/mail/worker.ts';
import { findOrganisations } from '../records/access/reachable-organisations.ts';
import { checkReplacementRoutes } from '../records/configuration/deprecation-errors.ts';
import { checkExtensionRoutes } from '../records/configuration/route-errors.ts';
import { withArchives } from '../records/index.ts';
import { createRangeSweep } from '../records/ranges/sweep.ts';
import { findEncryptedColumns } from '../records/store/encrypted-values.ts';
import {
  checkExtensionApis,
  checkExtensionJobs,
  checkOperationIds,
  isFeatureParts,
  mergeMailComposers,
} from './config-errors.ts';
import type { Core } from './core.ts';
import type { Declarations } from './declarations.ts';
import { createJobCounter, createJobsOfExtension } from './extension-jobs.ts';
import { createIdempotencyParts } from './http/idempotency/index.ts';
import { createAsyncApiDocument } from './openapi/async-api.ts';
import { createOpenApiDocument, type Documents, documentRoutes } from './openapi/document.ts';

/** The combined features of an app. */
interface Features {
  /** The merged parts: core features first, then extensions in order. */
  parts: FeatureParts;
  mails: Readonly<Record<string, MailComposer>>;
  /** The API that each extension offers to the project's code, with the extension's name. */
  apis: readonly { name: string; api: object }[];
  /** Create the documents of the app, whether or not the app serves them. */
  documents: Documents;
}

/** An extension that has been set up. */
interface SetUpExtension {
  name: string;
  parts: FeatureParts;
  jobs: ReturnType<typeof createJobsOfExtension>;
}

/** Creates the host of extensions. @param merged returns the parts of all features; no parts until all of them are set up */
function createExtensionHost(
  { host, accounts }: Core,
  merged: () => FeatureParts,
  createDocument: () => Record<string, unknown>,
  diagnose: ExtensionHost['diagnose'],
): Omit<ExtensionHost, 'jobs'> {
  let document: Record<string, unknown> | undefined;
  return {
    ...host,
    accounts: accounts?.api,
    routes: () => merged().routes ?? [],
    pages: () => merged().pages ?? [],
    consoleTabs: () => merged().consoleTabs ?? [],
    accountPanels: () => merged().accountPanels ?? [],
    accountSections: () => merged().accountSections ?? [],
    authenticators: () => merged().authenticators ?? [],
    auditTrail: () => merged().auditTrail,
    organisationAccess: () => merged().organisationAccess,
    userData: () => merged().userData ?? [],
    diagnose,
    openApiDocument: () => {
      document ??= createDocument();
      return document;
    },
  };
}

function setUpExtensions(
  { platform }: Core,
  extensions: Declarations['extensions'],
  host: Omit<ExtensionHost, 'jobs'>,
  errors: ConfigErrors,
): SetUpExtension[] {
  const jobCounter = createJobCounter(platform.metrics);
  return extensions.map((extension) => {
    const { name } = extension;
    const jobs = createJobsOfExtension(platform, name, jobCounter);
    const parts = setUpExtension(() => extension.setup({ ...host, jobs: jobs.api }), errors.at(`extension "${name}"`));
    return { name, parts, jobs };
  });
}

/** Merges the parts of extensions that do not belong to one extension each. */
function mergeExtensionParts(extensions: readonly SetUpExtension[]): FeatureParts {
  // Jobs, e-mails and APIs belong to one extension each; accounts run sign-in steps one by one; dependent pages are created later.
  const notMerged = {
    jobs: undefined,
    mails: undefined,
    api: undefined,
    signInStep: undefined,
    dependentPages: undefined,
  };
  return mergeParts(...extensions.map(({ parts }) => ({ ...parts, ...notMerged })));
}

/** Creates the parts of Belfry's own features. Accounts use parts of extensions. */
function createCoreParts(
  { platform, compiled, records, files, push, mail, jobs, accounts, host }: Core,
  extensions: readonly SetUpExtension[],
  extensionParts: FeatureParts,
  documents: Documents,
): FeatureParts {
  const signInSteps = extensions.flatMap(({ parts }) => parts.signInStep ?? []);
  return mergeParts(
    {
      routes: records.routes,
      encrypted: findEncryptedColumns(withArchives(compiled)),
      sweeps: [createRangeSweep(platform.database, compiled)],
    },
    files.parts,
    push.parts,
    mail.parts,
    jobs.createParts(createJobRuntime(host)),
    createIdempotencyParts(platform),
    { routes: documentRoutes(platform.settings, documents, (extensionParts.sent ?? []).length > 0) },
    accounts?.createFeatureParts({ ...extensionParts, signInSteps }) ?? {},
  );
}

/** Creates the pages of each extension. Dependent pages need the parts of all features. */
function createPages(extensions: readonly SetUpExtension[], errors: ConfigErrors) {
  return extensions.map(({ name, parts }) => ({
    name,
    routes: [...(parts.pages ?? []), ...(parts.dependentPages?.(errors.at(`extension "${name}"`)) ?? [])],
  }));
}

/**
 * Sets up the features of an app.
 *
 * @param diagnose called only when all features are set up
 * @returns undefined if the parts of extensions have errors, which are then reported
 */
export function setUpFeatures(
  core: Core,
  { resources, extensions, members = {} }: Declarations,
  errors: ConfigErrors,
  diagnose: ExtensionHost['diagnose'],
): Features | undefined {
  let mergedParts: FeatureParts = {};
  const documentParts = () => ({
    routes: mergedParts.routes ?? [],
    authenticators: mergedParts.authenticators ?? [],
    sent: mergedParts.sent ?? [],
    resources: core.compiled,
    settings: core.platform.settings,
  });
  const documents: Documents = {
    openApi: () => createOpenApiDocument(documentParts()),
    asyncApi: () => createAsyncApiDocument(documentParts()),
  };
  const host = createExtensionHost(core, () => mergedParts, documents.openApi, diagnose);
  const features = setUpExtensions(core, extensions, host, errors);
  const extensionParts = mergeExtensionParts(features);
  const coreParts = createCoreParts(core, features, extensionParts, documents);
  mergedParts = mergeParts(coreParts, extensionParts);
  const pagesByExtension = createPages(features, errors);
  mergedParts.pages = [...(coreParts.pages ?? []), ...pagesByExtension.flatMap(({ routes: pages }) => pages)];
  core.setEventPublisher(mergedParts.publishEvent);
  const mails = mergeMailComposers(features, coreParts.mails ?? {}, errors);
  const routesByExtension = features.map(({ name, parts }) => ({ name, routes: parts.routes ?? [] }));
  const { routes = [], pages } = mergedParts;
  checkExtensionRoutes('route', routesByExtension, coreParts.routes ?? [], errors);
  checkExtensionRoutes('page', pagesByExtension, coreParts.pages ?? [], errors);
  checkReplacementRoutes(resources, { routes, pages }, errors);
  for (const extension of features) checkExtensionJobs(extension, errors);
  checkExtensionApis(features, members, errors);
  checkOperationIds(routes, errors);
  mergedParts.checkConfig?.(errors);
  if (errors.lines.length > 0) return undefined;
  return {
    parts: mergeParts(mergedParts, ...features.flatMap(({ parts, jobs }) => jobs.createWorkerFeatures(parts.jobs))),
    mails,
    apis: features.flatMap(({ name, parts: { api } }) => (api === undefined ? [] : [{ name, api }])),
    documents,
  };
}

/** Returns what runs of jobs get. */
function createJobRuntime({ service, transaction, push, senders, users, resources }: Host): JobRuntime {
  const organisations = findOrganisations(resources);
  return {
    context: { service, transaction, push, mail: senders.mail, webhooks: senders.webhooks },
    async loadUser(id, organisationRole) {
      if (organisationRole !== null) {
        const [organisation] = (await organisations?.load([id])) ?? [];
        return organisation && createOrganisationViewer(id, organisationRole);
      }
      const [user] = (await users?.load([id])) ?? [];
      return user !== undefined && isAccountActive(user) ? user : undefined;
    },
  };
}

/** Runs the `setup` of an extension. Returns its parts, or no parts after reporting that it failed. */
function setUpExtension(setup: () => unknown, errors: ConfigErrors): FeatureParts {
  try {
    const parts = setup();
    if (isFeatureParts(parts)) return parts;
    errors.report('setup(host) must return an object with its parts, not a promise');
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    for (const line of error.errors) errors.report(line);
  }
  return {};
}
