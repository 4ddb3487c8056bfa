/**
 * What all tabs of the console share. A tab imports it as `belfry/console`, also a tab of an extension outside of Belfry.
 */
export { html } from 'htm/preact';
export { ActionButton } from '../kit/action-button.tsx';
export { BarChart, type ChartPoint } from '../kit/bar-chart.tsx';
export { Code, copyText } from '../kit/copy.tsx';
export { confirmAction, Dialog, openDialog, type Question } from '../kit/dialog.tsx';
export { type ControlAttributes, FormField, focusFirstError } from '../kit/form-field.tsx';
export { bytesText, clockText, durationText, sentenceCase, Time, timeOf } from '../kit/format.tsx';
export { type HeaderChanges, HeaderEditor, useHeaderRows } from '../kit/header-editor.tsx';
export { Icon, IconButton, type IconName } from '../kit/icons.tsx';
export { isTyping } from '../kit/is-typing.ts';
export { loadTexts, locale } from '../kit/language.ts';
export { Choice, Facts, Figure, Nothing, Section, Status, type StatusKind } from '../kit/parts.tsx';
export { RequestError, toRequestError } from '../kit/request.ts';
export { showError, showToast } from '../kit/toasts.tsx';
export { call, callApp, download, type PageMeta, readStored, readStream, readToken } from './api.ts';
export { DataTable, type TableColumn } from './components/data-table.tsx';
export { allowLeaving, useLeaveGuard } from './components/leave-guard.ts';
export {
  chosenParams,
  FilterForm,
  Listing,
  RecordFilter,
  SelectFilter,
  UserFilter,
  useSearchField,
} from './components/listing.tsx';
export { type Load, Loaded, LoadMore, Pager, type Pages, useLoaded, usePages } from './components/loading.tsx';
export { Menu } from './components/menu.tsx';
export { Page, TabLayout, type TabSection } from './components/page-parts.tsx';
export { RecordLink } from './components/record-link.tsx';
export { ReferencePicker, useReferenceLabel } from './components/reference-picker.tsx';
export { sendWithCode } from './components/second-factor.tsx';
export { Sparkline } from './components/sparkline.tsx';
export type { AppInfo, FieldInfo, ResourceInfo } from './data/app-info.ts';
export { FieldEditor } from './data/editors/editor.tsx';
export { JsonEditor } from './data/editors/json.tsx';
export { isObject, JsonText, toInput } from './data/editors/values.ts';
export { isSafeLink, Reference, Value } from './data/format.tsx';
export { apiPathOf, app, dataHref, userResource } from './data/schema.ts';
export { guardLeaving, hrefOf, navigate, type Place, place, setParams } from './router.ts';
export type { Tab, TabRoute } from './tab.ts';
