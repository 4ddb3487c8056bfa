/**
 * What all tabs of the console share. A tab imports it as `belfry/console`, also a tab of an extension outside of Belfry.
 */
export { html } from 'htm/preact';
export { call, callApp, download, readStored, readStream, readToken } from './api.js';
export { BarChart, Sparkline } from './components/chart.js';
export { DataTable } from './components/data-table.js';
export {
  allowLeaving,
  confirmAction,
  Dialog,
  openDialog,
  showError,
  showToast,
  useLeaveGuard,
} from './components/feedback.js';
export { FormField, focusFirstError } from './components/form-field.js';
export { Icon, IconButton } from './components/icons.js';
export { chosenParams, FilterForm, Listing, SelectFilter, UserFilter, useSearchField } from './components/listing.js';
export { Loaded, LoadMore, Pager, useLoaded, usePages } from './components/loading.js';
export { Code, copyText, isTyping, Menu } from './components/menu.js';
export {
  ActionButton,
  Choice,
  Facts,
  Figure,
  Nothing,
  Page,
  Section,
  Status,
  TabLayout,
} from './components/page-parts.js';
export { RecordLink } from './components/record-link.js';
export { ReferencePicker, useReferenceLabel } from './components/reference-picker.js';
export { sendWithCode } from './components/second-factor.js';
export {
  bytesText,
  clockText,
  durationText,
  isSafeLink,
  Reference,
  sentenceCase,
  Time,
  timeOf,
} from './data/format.js';
export { app, dataHref, userResource } from './data/schema.js';
export { guardLeaving, hrefOf, navigate, place, setParams } from './router.js';
