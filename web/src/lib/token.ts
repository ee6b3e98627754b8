/** The access token, where the server wants one. The command line opens `/#token=…`; the address forgets it at once. */
const KEY = "compact-token";
let token = "";

export function takeToken() {
  const given = /[#&]token=([^&]+)/.exec(window.location.hash)?.[1];
  if (given) {
    setToken(decodeURIComponent(given));
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
  } else token = sessionStorage.getItem(KEY) ?? "";
}

export function setToken(value: string) {
  token = value;
  sessionStorage.setItem(KEY, value);
}

export function authHeaders(): Record<string, string> {
  return token ? { Authorization: `Bearer ${token}` } : {};
}
