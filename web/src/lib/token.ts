/** The access token, where the server wants one. The command line opens `/#token=…`; the address forgets it at once. */
import { create } from "zustand";
import { decoded } from "./decoded";

const KEY = "compact-token";
let token = "";

/** Whether the server refused the token of this page, and nobody has answered yet that it asks for one. */
export const useTokenWanted = create<{ wanted: boolean; declined: boolean }>(() => ({ wanted: false, declined: false }));

export function takeToken() {
  const given = /[#&]token=([^&]+)/.exec(window.location.hash)?.[1];
  if (given) {
    setToken(decoded(given));
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

/** Every answer comes by here: a refused token is asked for once, not at every further request. */
export function checkToken(answer: Response) {
  if (answer.status === 401) useTokenWanted.setState((state) => ({ wanted: !state.declined }));
}
