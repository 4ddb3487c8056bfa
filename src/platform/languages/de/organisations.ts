import type { Translations } from '../catalogue.ts';

/** Invitations and organisations. */
export const organisationMessages: Translations = {
  'Is already invited': 'Ist bereits eingeladen',
  'This address is already invited': 'Diese Adresse ist bereits eingeladen',
  'This address has received too many invitations; try again later':
    'Diese Adresse hat zu viele Einladungen erhalten; versuchen Sie es später erneut',
  'This invitation is invalid or has expired': 'Diese Einladung ist ungültig oder abgelaufen',
  'This invitation is for another e-mail address; sign in with that address':
    'Diese Einladung ist für eine andere E-Mail-Adresse; melden Sie sich mit dieser Adresse an',
  'The inviter has {max} pending invitations, the maximum; revoke one, or wait until one is accepted or expires':
    'Der Einladende hat mit {max} offenen Einladungen die Höchstzahl; widerrufen Sie eine, oder warten Sie, bis eine angenommen wird oder abläuft',
  'The organisation has {max} pending invitations, the maximum; revoke one, or wait until one is accepted or expires':
    'Die Organisation hat mit {max} offenen Einladungen die Höchstzahl; widerrufen Sie eine, oder warten Sie, bis eine angenommen wird oder abläuft',
  'The organisation has sent too many invitations today; try again later':
    'Die Organisation hat heute zu viele Einladungen gesendet; versuchen Sie es später erneut',
  'The inviter can no longer invite; revoke this invitation and create a new one':
    'Der Einladende darf nicht mehr einladen; widerrufen Sie diese Einladung, und erstellen Sie eine neue',
  'You are not allowed to grant the roles of this invitation': 'Sie dürfen die Rollen dieser Einladung nicht vergeben',
  'There is already an account with this e-mail address; sign in to it, then accept':
    'Es gibt bereits ein Konto mit dieser E-Mail-Adresse; melden Sie sich damit an, und nehmen Sie dann an',
  'Must be the invited address': 'Muss die eingeladene Adresse sein',
  'Set it after accepting, with POST /api/auth/password':
    'Setzen Sie es nach dem Annehmen, mit POST /api/auth/password',
  'The parameter "after" must be an id': 'Der Parameter „after“ muss eine ID sein',

  'There is no such organisation, or you are not a member of it':
    'Diese Organisation gibt es nicht, oder Sie sind kein Mitglied',
  'You are not a member of an organisation': 'Sie sind in keiner Organisation Mitglied',
  'Is required, because you are a member of several organisations; send it, or the header X-Organisation':
    'Ist erforderlich, weil Sie Mitglied mehrerer Organisationen sind; senden Sie es oder den Header X-Organisation',
  'Must be the id or slug of an organisation, or null': 'Muss die ID oder der Slug einer Organisation oder null sein',
  'Only an owner can delete an organisation': 'Nur ein Besitzer kann eine Organisation löschen',
  'No such user': 'Benutzer nicht gefunden',
  'This is the last owner of the organisation; make another member an owner first':
    'Das ist der letzte Besitzer der Organisation; machen Sie zuerst ein anderes Mitglied zum Besitzer',
  'The user is the last owner of these organisations: {names}. Make another member an owner, or delete the organisations, first':
    'Der Benutzer ist der letzte Besitzer dieser Organisationen: {names}. Machen Sie zuerst ein anderes Mitglied zum Besitzer, oder löschen Sie die Organisationen',
  'The organisation has {max} members, the maximum; a manager must remove one first':
    'Die Organisation hat mit {max} Mitgliedern die Höchstzahl; ein Verwalter muss zuerst eines entfernen',
  'A user can be a member of at most {max} organisations; leave one first':
    'Ein Benutzer kann in höchstens {max} Organisationen Mitglied sein; verlassen Sie zuerst eine',
  'Your role does not allow you to give, change or remove this role: {role}':
    'Ihre Rolle erlaubt Ihnen nicht, diese Rolle zu vergeben, zu ändern oder zu entziehen: {role}',
  'The API key of an organisation can be used only for records of that organisation':
    'Der API-Schlüssel einer Organisation lässt sich nur für Datensätze dieser Organisation verwenden',
};
